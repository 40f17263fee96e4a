// Package desk is the user's side of campaigns: it starts them, reads their results, and compares two.
//
// What it is not: it coordinates nothing. Coordination goes on when this process ends.
//
// Its rule: a report is made from the board alone, and equals that of kpsim explore to the last byte, unless units
// were set aside.
//
// Its limit: all parts of a campaign are in memory while it is reported.
package desk
