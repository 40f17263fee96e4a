// Package lead coordinates campaigns: it hands out their units, some more than workers can make at once, takes their
// results, and hands out what follows from them: canaries, witnesses, the next rounds. Then it ends the campaign.
//
// What it is not: it makes no units, and keeps no result. It rebuilds its state from the board when it starts, so it
// may be killed at any time; two at once do no harm but hand out the same unit twice.
//
// Its rule: one goroutine, Run's, owns all state. Others send it events.
//
// Its limit: it holds one bit a unit in memory.
package lead
