// Package twoengines runs one scenario on two engines and compares their answers.
//
// What it is: Of, which makes a scenario's answers from a run: the result of each API call, the handlers that ran and
// what they saw, the results of calls, the contents of kprobes/list at the end, and the text then. Differences
// compares the answers of two engines. Serial turns a scenario into one whose answers don't depend on the schedule.
//
// What it is not: it doesn't know which of two engines is right, and judges no property.
//
// Its rule: the answers of a serial scenario must be equal exactly. For another scenario only the answers that don't
// depend on the schedule are compared.
package twoengines
