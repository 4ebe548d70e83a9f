"""Figures as pictures without a browser: SVG, for pages without scripts, notebooks on the web and mails.

Draws panels, which plotly draws too: their axes, cells, curves, bars and texts, the legend and the colour bar.
"""
