package traces

import (
	"bytes"
	"fmt"
	"io"
	"mime/quotedprintable"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A mangling is what a mail program does to a text. Each takes any text, so they may
// follow one another in any order.
type mangling struct {
	name string
	do   func(t *rapid.T, lines []string) []string
}

// manglings are those after which a trace is always read as before.
var manglings = []mangling{
	{"quote", func(t *rapid.T, lines []string) []string {
		mark := rapid.SampledFrom([]string{"> ", ">", "> > "}).Draw(t, "mark")
		bare := rapid.Bool().Draw(t, "no blank before nothing")
		return each(lines, func(s string) string {
			if s == "" && bare {
				return strings.TrimSpace(mark)
			}
			return mark + s
		})
	}},
	{"sign", func(_ *rapid.T, lines []string) []string {
		out := []string{"-----BEGIN PGP SIGNED MESSAGE-----", "Hash: SHA512", ""}
		out = append(out, each(lines, func(s string) string {
			if strings.HasPrefix(s, "-") || strings.HasPrefix(s, "From ") {
				return "- " + s
			}
			return s
		})...)
		return append(out, "-----BEGIN PGP SIGNATURE-----", "", "iQIzBAEBCgAdFiEE=", "=Zk2W",
			"-----END PGP SIGNATURE-----")
	}},
	{"encode", func(_ *rapid.T, lines []string) []string {
		var b bytes.Buffer
		w := quotedprintable.NewWriter(&b)
		io.WriteString(w, strings.Join(lines, "\n"))
		w.Close()
		return strings.Split(strings.ReplaceAll(b.String(), "\r\n", "\n"), "\n")
	}},
	{"trailing blanks", func(t *rapid.T, lines []string) []string {
		n := rapid.IntRange(1, 3).Draw(t, "how many")
		k := rapid.IntRange(1, 4).Draw(t, "each")
		i := 0
		return each(lines, func(s string) string {
			if i++; i%k == 0 {
				return s + strings.Repeat(" ", n)
			}
			return s
		})
	}},
	{"write about", func(t *rapid.T, lines []string) []string {
		before := rapid.SampledFrom([]string{"Hi,\n\nsee below: it = broken.\n", "Subject: [PATCH] x = 1\nFrom: a@b\n",
			"\xff\xfe \x1b[2J", ""}).Draw(t, "before")
		after := rapid.SampledFrom([]string{"\n-- \nMasami", "\nOn Monday she wrote: hm", "Regards,",
			"\n> > and: = 3\n>", ""}).Draw(t, "after")
		return append(append(strings.Split(before, "\n"), lines...), strings.Split(after, "\n")...)
	}},
}

// folding is what can be undone if lines were as Marshal writes them, or where the
// syntax tells.
func folding(flowed bool) func(t *rapid.T, lines []string) []string {
	return func(t *rapid.T, lines []string) (out []string) {
		width := rapid.IntRange(72, 76).Draw(t, "width")
		for _, s := range lines {
			if flowed && (strings.HasPrefix(s, " ") || strings.HasPrefix(s, "From ") || strings.HasPrefix(s, ">")) {
				s = " " + s
			}
			for utf8.RuneCountInString(strings.TrimRight(s, " ")) > width {
				n := cutAt(s, width)
				if n < 0 {
					break
				}
				piece := s[:n]
				if flowed {
					piece += " "
				}
				out, s = append(out, piece), s[n+1:]
			}
			out = append(out, s)
		}
		return out
	}
}

// cutAt returns the blank at which a mail program folds a line: the last one that is in
// time, or the first one, and never in the indentation.
func cutAt(s string, width int) int {
	at := -1
	for i, w := 0, 0; i < len(s); w++ {
		if s[i] == ' ' && strings.TrimSpace(s[:i]) != "" && strings.TrimSpace(s[i:]) != "" {
			if w > width && at >= 0 {
				return at
			}
			if at = i; w > width {
				return at
			}
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		i += n
	}
	return at
}

func each(lines []string, f func(string) string) []string {
	out := make([]string, len(lines))
	for i, s := range lines {
		out[i] = f(s)
	}
	return out
}

func corpus(t testing.TB) (list []string) {
	for _, pattern := range []string{"corpus/*.kps", "kernels/*.kps"} {
		names, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, name := range names {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			list = append(list, string(text))
		}
	}
	require.Greater(t, len(list), 100)
	return list
}

func finish(t *rapid.T, lines []string) []byte {
	end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")
	text := strings.Join(lines, end)
	if rapid.Bool().Draw(t, "BOM") {
		text = "\ufeff" + text
	}
	return []byte(text)
}

// same reports whether two files are the same but for the spelling of text that Starlark
// and the checksum don't care about.
func same(a, b *File) bool {
	return a.TextSum() == b.TextSum() && fmt.Sprint(a.Origin, a.Format, a.Comments) == fmt.Sprint(b.Origin, b.Format,
		b.Comments)
}

// TestMail: any of the things that mail programs do to a text, one after the other, are
// done to each trace as it is written now, and it is read as before.
func TestMail(t *testing.T) {
	list := corpus(t)
	rapid.Check(t, func(t *rapid.T) {
		f, err := Parse("x.kps", []byte(rapid.SampledFrom(list).Draw(t, "trace")))
		require.NoError(t, err)
		f.WrittenBy("1.0 (commit 7c025e38b535), from https://example.org/kpsim")
		lines := strings.Split(string(f.Marshal()), "\n")
		all := append(manglings[:len(manglings):len(manglings)], mangling{"fold", folding(false)},
			mangling{"flow", folding(true)})
		quotes, quotedFirst, coded, folded := 0, false, false, false
		for range rapid.IntRange(0, 6).Draw(t, "manglings") {
			m := rapid.SampledFrom(all).Draw(t, "mangling")
			switch m.name {
			case "quote":
				if quotes++; quotes > 2 || coded && quotedFirst {
					continue // a mail that was encoded was decoded before it was quoted again
				}
			case "fold", "flow", "encode":
				if coded || folded && m.name == "encode" {
					continue // nothing folds encoded text, and what folds quoted text doesn't encode it
				}
				coded = m.name == "encode"
				quotedFirst, folded = coded && quotes > 0, quotes > 0
			}
			t.Log(m.name)
			lines = m.do(t, lines)
		}
		text := finish(t, lines)
		g, err := Parse("x.kps", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if !same(f, g) {
			t.Fatalf("\n%s\nfrom\n%s\nto\n%s", text, f.Marshal(), g.Marshal())
		}
	})
}

// TestMailOlder: traces that were written with long lines, and have no checksum, are read
// as before, too, if a mail program folds them once, as it sends them.
func TestMailOlder(t *testing.T) {
	list := corpus(t)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom(list).Draw(t, "trace")
		f, err := Parse("x.kps", []byte(text))
		require.NoError(t, err)
		lines := strings.Split(text, "\n")
		quotes := 0
		if rapid.Bool().Draw(t, "quoted before") {
			quotes++
			lines = manglings[0].do(t, lines)
		}
		lines = folding(false)(t, lines)
		for range rapid.IntRange(0, 3).Draw(t, "manglings") {
			m := rapid.SampledFrom(manglings).Draw(t, "mangling")
			if m.name == "encode" || m.name == "quote" && quotes > 1 {
				continue
			}
			if m.name == "quote" {
				quotes++
			}
			lines = m.do(t, lines)
		}
		sent := finish(t, lines)
		g, err := Parse("x.kps", sent)
		if err != nil {
			t.Fatalf("%v\n%s", err, sent)
		}
		if !same(f, g) {
			t.Fatalf("\n%s\nfrom\n%s\nto\n%s", sent, f.Marshal(), g.Marshal())
		}
	})
}

// TestMailErrors: what can't be undone is refused, with the place and what to do.
func TestMailErrors(t *testing.T) {
	f := exampleFile()
	f.Message += strings.Repeat(" and more", 10)
	f.WrittenBy("1.0")
	text := string(f.Marshal())
	quoted := "> " + strings.ReplaceAll(text, "\n", "\n> ")
	for _, c := range []struct{ text, want string }{
		{"Hi,\n\n" + quoted + "\n\nand\n\n" + text,
			"x.kps:58: here begins a second trace, and the first one is at line 13: leave one of them in the file"},
		{"Content-Transfer-Encoding: base64\n\naGVsbG8K\n",
			"x.kps:1: this is a mail in base64: save what is attached to it, and give that"},
		{strings.Replace(quoted, "f = text", "f = TEXT", 1),
			"x.kps:39: section origin: the scenario, the schedule or the verdict isn't what this checksum was made of; a mail program has changed the file: ask for it as an attachment, or, if it was edited since, delete this line"},
		{quoted[:strings.Index(quoted, "> -- digest")],
			"x.kps:30: section digest is missing: the file was cut off or edited; restore it, or let kpsim explore write it anew; a mail program has changed the file: ask for it as an attachment"},
		{strings.Repeat("> ", 40) + "-- scenario.star --\n",
			"x.kps:1: more than 32 marks of quoting are before it: take them away, or ask for the file as an attachment"},
	} {
		_, err := Parse("x.kps", []byte(c.text))
		require.EqualError(t, err, c.want, c.text)
	}
	edited, err := Parse("x.kps", []byte(strings.Replace(text, "f = text", "f = TEXT", 1)))
	require.NoError(t, err) // by hand: it was in no mail
	require.Contains(t, edited.Scenario, "TEXT")
}

// TestMailLong: no text takes long, whatever it is made of: a way of reading whose time goes with the
// square of the length would not end here.
func TestMailLong(t *testing.T) {
	head := "-- scenario.star --\n"
	for _, text := range []string{
		head + strings.Repeat("a\\\n", 1<<16) + "-- origin --\nfolded lines: x\n",
		"> " + head + strings.Repeat("a\n", 1<<16),
		head + "f(\"" + strings.Repeat("aaa aaaa aaaa aaaa aaaa aaaa aaaa aaaa aaaa aaaa aaaa aaaa aaaa\n", 1<<12),
		head + strings.Repeat("=3D=\n", 1<<16),
		head + "=" + strings.Repeat("3D", 1<<16),
		head + "x\n-- schedule --\n" + strings.Repeat(strings.Repeat("a", 50)+" in b in c, d\n", 1<<12),
		head + strings.Repeat(" a\n", 1<<16),
	} {
		_, err := Parse("x.kps", []byte(text))
		require.Error(t, err)
	}
}

// A section's first line isn't the rest of its title, however long its first word is.
func TestLongFirstWord(t *testing.T) {
	f, err := Parse("x.kps", []byte(corpus(t)[0]))
	require.NoError(t, err)
	for n := range 60 {
		f.Scenario = "scenario(\"" + strings.Repeat("a", n) + "\", says = \"" + strings.Repeat("so it goes ", 10) +
			"\")\nnever()\n"
		g, err := Parse("x.kps", f.Marshal())
		require.NoError(t, err, "%d", n)
		require.Equal(t, f.Scenario, g.Scenario)
	}
}
