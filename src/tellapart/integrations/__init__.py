"""Integrations with pytest, scikit-learn, torchmetrics, sentence-transformers, ONNX Runtime and AnnData.

Each module is a thin wrapper that imports its package on first use. If the package is missing, the error names the
extra to install.
"""
