package view

import "strings"

// Fold breaks a text at blanks, so that no line is longer than width where possible. A
// width of 0 or less is unlimited.
func Fold(s string, width int) (lines []string) {
	if width <= 0 || Visible(s) <= width {
		return []string{s}
	}
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && Visible(line)+1+Visible(word) > width {
			lines = append(lines, line)
			line = "  " + word // continuation lines are indented
			continue
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// Visible returns how many columns a text takes, not counting the codes for colours.
func Visible(s string) (n int) {
	code := false
	for _, c := range s {
		switch {
		case c == '\x1b':
			code = true
		case !code:
			n++
		case c == 'm':
			code = false
		}
	}
	return n
}
