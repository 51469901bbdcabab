"""tellapart where people already work: pytest, scikit-learn, torchmetrics, text, ONNX, AnnData; one module for each.

Each is thin and imports its package when it is used; an error names the extra that is missing.
"""
