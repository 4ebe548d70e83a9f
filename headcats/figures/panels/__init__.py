"""From panels and marks to a plotly figure: axes, ticks, legends, letters, hatching, hover, sizes and wrapping."""
