package lang

import "kpsim/internal/scenario"

// Where returns the line, from 1, on which a part of a scenario was written that was loaded from src; 1 if the program
// doesn't say where.
func Where(name string, src []byte, open func(file string) ([]byte, error), p scenario.Part) int {
	l, err := load(name, src, open)
	if err != nil {
		return 1
	}
	return max(int(l.at(p).Line), 1)
}
