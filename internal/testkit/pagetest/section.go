package pagetest

import (
	"strings"
)

// Section is one of a page.
func Section(text, id string) string {
	_, s, _ := strings.Cut(text, `<section id="`+id+`"`)
	s, _, _ = strings.Cut(s, "</section>")
	return s
}
