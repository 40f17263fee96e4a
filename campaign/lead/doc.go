// Package lead coordinates campaigns: it hands out their units, some more than workers can make at
// once, takes what they have shown, and sees to what follows from that: canaries, witnesses, the
// next rounds, the end.
//
// What it is not: it makes no units, and keeps no result. What it knows is made anew from the
// board when it begins, so it may be killed at any time; and two at once do no more than
// hand out the same unit twice.
//
// Its rule: one goroutine, Run's, owns all state. Others send it what has happened.
//
// Its limit: it holds one bit a unit in memory.
package lead
