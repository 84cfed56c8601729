"""Stage records -> figures: pure, and the only place where a figure of the status is computed.

`record` reads what the master wrote, `figures` computes a stage and pools stages, `tables` writes Markdown.
"""
