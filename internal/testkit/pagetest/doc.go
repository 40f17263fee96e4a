// Package pagetest says what holds of every page of kpsim: for the tests of what writes one.
//
// What it is: Check, which reads a page as text, and Open, which has it read by a browser.
//
// What it is not: it knows no page in particular.
//
// Its rule: it holds what package page promises, and does so without its code.
//
// Its limits: HTML isn't parsed, but for the SVG in it. Without Chromium Open skips its
// test.
package pagetest
