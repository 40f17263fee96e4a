// Package plot draws plots as SVG for pages: lines through points or in steps, horizontal bars of pieces, ranges, dots
// and swings in rows, and error bars, over linear and logarithmic axes. Each mark says its values, to a pointer, a
// keyboard and a screen reader; CSV has all that is drawn.
//
// What it is not: a general plotter. It draws what kpsim's pages show, with one text size.
//
// Its rule: the same plot gives the same bytes. Colours are names of the stylesheet's variables and patterns, so that
// a page's colour scheme decides.
//
// Its limit: the width of a text is that of Helvetica, whatever font a browser has; each text is stretched to it, so
// that labels never overlap.
package plot
