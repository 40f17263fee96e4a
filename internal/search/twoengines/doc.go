// Package twoengines runs one scenario on two engines and compares what they answer.
//
// What it is: Of, which makes a scenario's answers from a run: what each call of the
// API returned, which handlers ran and what they saw, what calls left, what
// kprobes/list says at the end, and the text that stands there then. Differences
// compares the answers of two engines. Serial makes of a scenario one in which no
// schedule decides anything.
//
// What it is not: it doesn't know which of two engines is right, and no property is
// judged here.
//
// Its rule: what is compared of a serial scenario must be equal exactly. Of another
// scenario only that is compared which no schedule decides.
package twoengines
