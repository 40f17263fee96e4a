// Package desk is what who uses campaigns does: starts them, reads what they have shown, and
// compares two.
//
// What it is not: it coordinates nothing; that goes on when its process ends.
//
// Its rule: a report is made of what lies on the board, and is that of kpsim explore to the last
// byte, if nothing was set aside.
//
// Its limit: all parts of a campaign are in memory while it is reported.
package desk
