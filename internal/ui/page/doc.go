// Package page is the look of the pages that kpsim writes: one HTML file each, to be mailed,
// printed, and read by people and by screen readers.
//
// What it is: a document of sections, of prose, tables (whose cells may link, and have a
// verdict) and figures, which are plots of package plot; the template that it is
// written with; and the one stylesheet of all pages, light and dark.
//
// What it is not: it knows no machine, no probe, no trace; the caller says what
// is in a page. It writes no file.
//
// Its rules. A page is whole by itself: it loads nothing, and its Content-Security-Policy
// keeps it from doing so. The same document gives the same bytes. What a colour says a
// dash, a hatching, a sign or a word says too. A link leads to a place that exists on the
// page. Every figure has a title and a description, every table a caption and headings.
// Colours and fonts are the stylesheet's alone: a plot names series by their number.
//
// Its limits: no script, so nothing on a page can be turned or zoomed. A plot is laid out
// by the widths of Helvetica, which are those of Arial; in another font its texts
// are stretched or narrowed to these. At most 8 series and 6 pieces of a bar can be told apart.
package page
