"""A figure as a picture without a browser: SVG, for pages without scripts, notebooks on the web and mails.

Draws what the figures of headcats are made of: heatmaps, images, lines, markers, bars, texts, axes, legend, colour bar.
"""
