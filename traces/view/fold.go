package view

import "strings"

// Fold divides a text at blanks, so that no line is longer than width if it can
// be helped. 0 or less is no width.
func Fold(s string, width int) (lines []string) {
	if width <= 0 || Visible(s) <= width {
		return []string{s}
	}
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && Visible(line)+1+Visible(word) > width {
			lines = append(lines, line)
			line = "  " + word // what goes on is deeper
			continue
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// Visible is how many columns a text takes: the codes for colours take none.
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
