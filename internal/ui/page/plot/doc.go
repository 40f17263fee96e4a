// Package plot draws plots as SVG for pages: lines through points or in steps, lying bars of
// pieces, and ranges, over linear and logarithmic axes.
//
// What it is not: a general plotter. It draws what kpsim's pages show, in one size of text.
//
// Its rule: the same plot gives the same bytes. Colours are names of the stylesheet's
// variables and patterns, so that a page's scheme of colours decides.
//
// Its limit: the width of a text is that of Helvetica, whatever font a browser has; each text
// is stretched to it, so that labels never run into each other.
package plot
