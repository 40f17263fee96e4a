// Package verdict writes what a command has judged in the formats that CI systems read: KTAP, JUnit XML and SARIF.
//
// What it is: a Case, which is one thing that a command judged; a List, which collects the cases of a command; a Rule
// for each kind of fault, one for each property among them; and a row for each format (Formats). A command adds its
// cases and knows no format. A format writes a list and knows no command.
//
// What it is not: it judges nothing, opens no file and prints to no terminal. Which cases a command has is the
// command's decision.
//
// Its rule: a reader of a format never fails on what is written, whatever names and texts hold. Names and texts come
// from foreign files, so characters that can't be shown are escapes, as on a terminal (traces.Plain).
//
// Its limits: KTAP has two levels, groups and cases. SARIF has results for cases that failed, and for violations that
// nothing was expected of; a case that passed is only counted, since readers of SARIF show each result as a problem.
package verdict
