// Package page is the look of the pages that kpsim writes: one HTML file each, to be mailed, printed, and read by
// people and by screen readers.
//
// What it is: a document of sections with prose, tables (whose cells may link, and have a verdict) and figures, which
// are plots of package plot; the template for documents; and the one stylesheet of all pages, light, dark and on A4.
//
// What it is not: it knows no machine, no probe, no trace; the caller decides what is on a page. It writes no file.
//
// Its rules. A page is complete: it loads nothing, and its Content-Security-Policy keeps it from doing so. The same
// document gives the same bytes. Whatever a colour says is also said by a dash, a hatching, a sign or a word. A link
// leads to a place that exists on the page. Every figure has a title and a description, every table a caption and
// headings. What is wider or longer than the window scrolls in a box of its own, keeps its headings and says that
// it scrolls; on paper nothing is cut or folded. Only the stylesheet has colours and fonts: a plot names series by
// their number.
//
// Its limits: no script, so nothing on a page can be turned or zoomed. A plot is laid out by the widths of Helvetica,
// which are those of Arial; in another font its texts are stretched or narrowed to these. At most 8 series and 6
// pieces of a bar can be distinguished.
package page
