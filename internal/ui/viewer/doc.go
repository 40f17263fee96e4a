// Package viewer writes a run as a page to step through event by event, forwards and
// backwards: lanes of CPUs, what waits for what, the patched bytes, and which of them each CPU
// may still fetch.
//
// What it is: a scene (traces/view) put into a self-contained HTML file, and the script
// that shows it. Two scenes are shown side by side.
//
// What it is not: it runs nothing and knows no machine. What is on the page is in the
// scene, or, of two runs, which events only one of them has; the script computes nothing
// but the last writer of each byte.
//
// Its rules. The story comes first: what went wrong and how it came about are in the page
// without its script, and in sight without scrolling at 1280 by 800 pixels and at 400 by
// 800. The page loads nothing, and its Content-Security-Policy, which names the
// script by its hash, keeps it from doing so. Whatever a drawing shows is also said in
// text, and whatever is done with the mouse is done with a key as well. An event has the
// number that replay prints, and an address (#e91, of two runs #e91,e97); steps, of which there is one for
// each event that is shown, count from 0 and are never shown, though #step=72 is
// accepted, as #event=91 of older pages is. An event that the run doesn't have is reported, and the page and the
// address stay as they are. The same scene gives the same bytes. The deviations, the
// scale and the states of the probes stay in sight while the lanes scroll, and an edge beyond
// which there is more says so. Of two runs, what only one has comes first.
//
// Its limits: it draws about as many spans as there are pixels; further spans of one pixel
// are drawn as one. States of more probes than fit in half of the drawing's box scroll with the lanes, but for
// the last ones. A page of 100,000 events has some 5 MB. If more than 1,000 insertions
// and deletions separate two runs, everything between their common beginning and their
// common end is said to differ.
//
// The script is in parts, which are joined: run (data, and helpers), lanes (the drawing),
// folds (what of it is drawn small or faded), panes (the texts), tale (the story and its
// marks), paper (what is printed), search, viewer (keys and mouse of a run), host (the page).
package viewer
