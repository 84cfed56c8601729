"""A result for people: one document of sections, tables and charts, written as Markdown, HTML or CSV.

`result` is what is reported on, `build` makes the document of it, `markdown`, `html` and `flat` write it.
"""
