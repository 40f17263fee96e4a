// Package manual makes the man pages of kpsim from the model of the command line, which is
// where --help comes from, too. So a page can't lag behind the program.
//
// What it is: Pages returns a page for the program and for each command that --help lists,
// Page one of them. The text of a command's help is put into sections by its words:
// "Examples:" begins one, "Exit status" another; indented lines stay as they are, unless
// all of them have two columns, which become a list.
//
// What it is not: it knows no command, and no man page has text that --help lacks, but for
// the names of the other pages.
//
// Its rule: a page is plain ASCII, in the macros of man(7), and neither groff nor mandoc has
// anything to say against it. The same model, date and version give the same bytes.
//
// Its limits: help that isn't laid out as above is one long DESCRIPTION.
package manual
