// Package viewer writes a run as a page that one goes through event by event, forwards and
// backwards: lanes of CPUs, what waits for what, the patched bytes and what each CPU may
// still fetch of them.
//
// What it is: a scene (traces/view) put into a self-contained HTML file, and the script
// that shows it. Two scenes are shown side by side.
//
// What it is not: it runs nothing and knows no machine. What is on the page is in the
// scene; the script computes nothing but the last writer of each byte.
//
// Its rules. The page loads nothing, and its Content-Security-Policy, which names the
// script by its hash, keeps it from doing so. Whatever a drawing shows is also said in
// text, and whatever is done with the mouse is done with a key as well. An event has the
// number that replay prints, and an address (#event=91); steps, of which there is one for
// each event that is shown, count from 0 and are never shown, though #step=72 is
// accepted. The same scene gives the same bytes.
//
// Its limits: drawn are about as many spans as there are pixels; of more, those of a pixel
// are one. At 100,000 events a page has some 5 MB.
package viewer
