// Package patches reads patches and applies them to a copy of a source tree.
//
// What it is: a mail of git format-patch, an mbox of a series, or a plain diff becomes a list of patches, in the
// order of their numbers. A Tree holds the files of a folder as lines, each with the patch that it came from, so that
// the lines of a patch are known after later ones have moved them.
//
// What it is not: it parses no diff itself, go-gitdiff does. It doesn't write to the folder that a Tree reads.
//
// Its rule: a patch comes from a stranger. Paths that leave the tree, symbolic links, devices and anything but
// regular files are refused before a byte is changed, and a patch is applied as a whole or not at all.
//
// # Limits
//
// A hunk may have moved, but its lines must be those of the source: no fuzz, no merge of three sides. go-gitdiff
// can apply patches, too; it accepts no hunk that has moved, and it doesn't say where lines came from, so hunks are
// placed here. Binary patches and changes of modes alone change nothing. Bytes are taken as they come, whatever
// charset a mail names.
package patches
