package build_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"kpsim/internal/lazyregexp"
	"kpsim/internal/scenario/lang"
)

var update = flag.Bool("update", false, "make the files that are made from the language")

// The files of the builder are what the rows of the language make.
func TestCurrent(t *testing.T) {
	files := generated(lang.Words())
	for name, text := range files {
		if *update {
			require.NoError(t, os.WriteFile(name, text, 0o644))
		}
		is, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, string(text), string(is), "%s isn't current: go test ./kpsimtest/build -run Current -update",
			name)
	}
	there, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, f := range there {
		if strings.HasPrefix(f.Name(), "made_") {
			require.NotNil(t, files[f.Name()], "%s: no row makes it; delete it", f.Name())
		}
	}
}

// A goType is how a builder takes one kind of value: the type of a parameter, how the argument is passed on, and
// whether it is several.
type goType struct {
	name string
	pass string // %s is the parameter
	many bool
}

// goTypes has a row for each kind of value.
var goTypes = map[lang.Takes]goType{
	lang.TakesText:            {name: "string"},
	lang.TakesErrno:           {name: "string", pass: "errnoOf(%s)"},
	lang.TakesHex:             {name: "string"},
	lang.TakesWritten:         {name: "Written"},
	lang.TakesInt:             {name: "int"},
	lang.TakesInts:            {name: "int", many: true},
	lang.TakesWord:            {name: "Word"},
	lang.TakesOneOrMoreWords:  {name: "Word", many: true},
	lang.TakesWords:           {name: "Word", many: true},
	lang.TakesAddr:            {name: "uint64"},
	lang.TakesRest:            {name: "Word", many: true},
	lang.TakesBool:            {name: "bool"},
	lang.TakesBools:           {name: "bool", many: true},
	lang.TakesFunc:            {name: "Function"},
	lang.TakesFuncs:           {name: "Function", many: true},
	lang.TakesOneOrMore:       {name: "Functions"},
	lang.TakesCallee:          {name: "Callee"},
	lang.TakesPlace:           {name: "Place"},
	lang.TakesPlaces:          {name: "Place", many: true},
	lang.TakesOneOrMorePlaces: {name: "Places"},
	lang.TakesAddress:         {name: "Word"},
	lang.TakesData:            {name: "Block"},
	lang.TakesDatas:           {name: "Block", many: true},
	lang.TakesDataPlace:       {name: "DataPlace"},
	lang.TakesSteps:           {name: "Step", many: true},
	lang.TakesEntry:           {name: "Entry"},
	lang.TakesOps:             {name: "Op", many: true},
	lang.TakesFile:            {name: "string"},
}

// byHand are the words that build.go has.
var byHand = map[string]bool{"scenario": true, "insns": true}

// once are the words that a scenario says at most once, without a required parameter.
var once = map[string]bool{"machine": true, "never": true}

// goNames are the words that Go spells otherwise than by their parts.
var goNames = map[string]string{"cpu": "CPU", "cpus": "CPUs", "ip": "IP", "nmi": "NMI", "elf": "ELF", "bpf": "BPF",
	"ibt": "IBT", "irqs": "IRQs", "rcu": "RCU", "sc": "SC", "tso": "TSO", "lkmm": "LKMM"}

// camel returns the name that Go has for a word of the language.
func camel(word string) string {
	var b strings.Builder
	apart := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for _, part := range strings.FieldsFunc(word, apart) {
		if is := goNames[part]; is != "" {
			part = is
		}
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// lower returns the name of a Go parameter.
func lower(word string) string {
	switch word {
	case "goto", "type", "func", "range", "map":
		return word + "Of"
	}
	name := camel(word)
	if word == strings.ToLower(name) {
		return word
	}
	return strings.ToLower(name[:1]) + name[1:]
}

// A maker writes one file.
type maker struct{ bytes.Buffer }

func (m *maker) line(form string, args ...any) { fmt.Fprintf(m, form+"\n", args...) }

var link = lazyregexp.New(`\[([^]]*)\]\([^)]*\)`)

// says writes a comment: no line is longer than 118 columns.
func (m *maker) says(text string) {
	text = link().ReplaceAllString(strings.ReplaceAll(text, "`", ""), "$1")
	line := "//"
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > 116 {
			m.line("%s", line)
			line = "//"
		}
		line += " " + word
	}
	m.line("%s.", strings.TrimSuffix(line, "."))
}

// typeOf returns the Go type of a parameter of a word.
func typeOf(word string, p lang.Param) goType {
	switch p.Takes {
	case lang.TakesChoice:
		return goType{name: choice(word, p)}
	case lang.TakesPart:
		return goType{name: "Any" + camel(p.Of)}
	case lang.TakesParts:
		return goType{name: "Any" + camel(p.Of), many: true}
	}
	return goTypes[p.Takes]
}

// choice is the name of the type of a choice.
func choice(word string, p lang.Param) string {
	if word == "machine" {
		return camel(p.Name) + "Setting"
	}
	return camel(word) + camel(p.Name)
}

// param returns the declaration of a parameter, and how it is passed on. The last one may be several.
func param(word string, p lang.Param, last bool) (decl, pass string) {
	t, name := typeOf(word, p), lower(p.Name)
	switch {
	case p.Takes == lang.TakesChoice:
		return name + " " + t.name, "string(" + name + ")"
	case t.many && last:
		return name + " ..." + t.name, "list(" + name + ")"
	case t.many:
		return name + " []" + t.name, "list(" + name + ")"
	case t.pass != "":
		return name + " " + t.name, fmt.Sprintf(t.pass, name)
	}
	return name + " " + t.name, name
}

// A shape is what stands around the calls of words that give something.
type shape struct{ method, embeds, gives, makes string }

func shapeOf(w lang.Word) shape {
	s := shape{method: "(s *Scenario) ", embeds: "part", makes: "s.make(%s)"}
	switch w.Gives {
	case lang.GivesPart:
		switch w.Of {
		case "function":
			s.embeds, s.makes = "aFunction", "aFunction{s.make(%s)}"
		case "data":
			s.embeds, s.makes = "aBlock", "aBlock{s.make(%s)}"
		}
	case lang.GivesObject:
		s.embeds, s.makes = "anObject", "anObject{s.make(%s)}"
	case lang.GivesOp:
		s = shape{embeds: "anOp", gives: "Op", makes: "anOp{deed{newCall(%s)}}"}
	case lang.GivesStep:
		s = shape{embeds: "aStep", gives: "Step", makes: "aStep{deed{newCall(%s)}}"}
	case lang.GivesBoth:
		s = shape{embeds: "both", makes: "both{deed{newCall(%s)}}"}
	case lang.GivesWritten:
		s = shape{embeds: "writtenForm", gives: "Written", makes: "writtenForm{deed{newCall(%s)}}"}
	}
	if once[w.Name] {
		s.makes = "s.only(%s)"
	}
	return s
}

// word writes what a function of the language is in Go.
func (m *maker) word(w lang.Word) {
	var required, options []lang.Param
	for i, p := range w.Params {
		if p.Default != "" && (i > 0 || p.Name != "name") {
			options = append(options, p)
		} else {
			required = append(required, p)
		}
	}
	passed, rest := []string{strconv.Quote(w.Name)}, ""
	var decls []string
	for i, p := range required {
		decl, pass := param(w.Name, p, i == len(required)-1)
		decls = append(decls, decl)
		if p.Takes == lang.TakesRest {
			rest = pass + "..."
		} else {
			passed = append(passed, pass)
		}
	}
	s := shapeOf(w)
	args := strings.Join(passed, ", ")
	if rest != "" {
		args = fmt.Sprintf("%s, append([]any{%s}, %s)...", passed[0], strings.Join(passed[1:], ", "), rest)
	}
	name := camel(w.Name)
	m.line("")
	sig := w.Signature()
	if len(sig) > 200 {
		sig = w.Name + "()"
	}
	m.says(fmt.Sprintf("%s is %s of the language: %s", name, sig, w.Says))
	if len(options) == 0 && w.Gives != lang.GivesPart && w.Gives != lang.GivesBoth {
		if s.gives == "" {
			m.line("func %s%s(%s) { %s }", s.method, name, strings.Join(decls, ", "), fmt.Sprintf(s.makes, args))
		} else {
			m.line("func %s%s(%s) %s { return %s }", s.method, name, strings.Join(decls, ", "), s.gives,
				fmt.Sprintf(s.makes, args))
		}
		return
	}
	kind := name
	if s.method == "" {
		kind += "Op"
	}
	m.line("func %s%s(%s) *%s { return &%s{%s} }", s.method, name, strings.Join(decls, ", "), kind, kind,
		fmt.Sprintf(s.makes, args))
	m.line("")
	m.line("// %s is what %s makes, for its options.", kind, name)
	m.line("type %s struct{ %s }", kind, s.embeds)
	if w.Gives == lang.GivesPart && s.embeds == "part" {
		m.line("\nfunc (*%s) any%s() {}", kind, camel(w.Of))
	}
	for _, p := range options {
		m.option(w, kind, p)
	}
}

// label matches what begins the clauses about a parameter.
var label = lazyregexp.New("^`\\w+`: ")

// about returns the clauses of a text that name a parameter, after a colon; "" if there are none. A label's clauses
// go on to the next label, or to the end of the sentence.
func about(text, name string) string {
	var list []string
	for sentence := range strings.SplitSeq(strings.TrimSuffix(text, "."), ". ") {
		labelled := false
		for clause := range strings.SplitSeq(sentence, "; ") {
			if begins := label().FindString(clause); begins != "" {
				labelled = begins == "`"+name+"`: "
			}
			if labelled || strings.Contains(clause, "`"+name+"`") || strings.Contains(clause, "`"+name+" = ") {
				list = append(list, strings.TrimPrefix(clause, "`"+name+"`: "))
			}
		}
	}
	if list == nil {
		return ""
	}
	first := list[0]
	if len(first) > 1 && (first[1] == ' ' || unicode.IsLower(rune(first[1]))) {
		list[0] = strings.ToLower(first[:1]) + first[1:]
	}
	return ": " + strings.Join(list, "; ")
}

// option writes the method of an optional parameter.
func (m *maker) option(w lang.Word, kind string, p lang.Param) {
	name := camel(p.Name)
	m.line("")
	says := p.Says
	if says == "" {
		says = about(w.Says, p.Name)
		if p.Takes == lang.TakesErrno {
			says += `; "" is success`
		}
		m.says(fmt.Sprintf("%s sets %s of %s, by default %s%s", name, p.Name, camel(w.Name), p.Default, says))
	} else {
		m.says(fmt.Sprintf("%s is %s", name, says))
	}
	if p.Takes == lang.TakesFill {
		m.line("func (x *%s) %s(argument int, hex string) *%s { x.set(%q, []any{argument, hex}); return x }", kind,
			name, kind, p.Name)
		return
	}
	decl, pass := param(w.Name, p, true)
	m.line("func (x *%s) %s(%s) *%s { x.set(%q, %s); return x }", kind, name, decl, kind, p.Name, pass)
}

// choices writes the type of each choice of a word.
func (m *maker) choices(w lang.Word) {
	for _, p := range w.Params {
		if p.Takes != lang.TakesChoice {
			continue
		}
		kind := choice(w.Name, p)
		m.line("\n// %s is a word for %s.\ntype %s string\n", kind, p.Name, kind)
		m.line("// The words for %s.\nconst (", p.Name)
		for _, word := range p.Words {
			m.line("%s %s = %q", strings.TrimSuffix(kind, "Setting")+camel(word), kind, word)
		}
		m.line(")")
	}
}

// most is how many lines a file has at the most, as those that are written by hand.
const most = 420

// generated returns the files that the rows make.
func generated(words []lang.Word) map[string][]byte {
	files := make(map[string][]byte)
	var m *maker
	n := 0
	flush := func() {
		text, err := format.Source(m.Bytes())
		if err != nil {
			panic(fmt.Sprintf("%v:\n%s", err, m))
		}
		n++
		files[fmt.Sprintf("made_%d.go", n)] = text
		m = nil
	}
	begin := func() {
		if m == nil {
			m = new(maker)
			m.line("// Code generated by TestCurrent from the rows of the language. DO NOT EDIT.\n\npackage build")
		}
	}
	for _, w := range words {
		if byHand[w.Name] {
			continue
		}
		one := new(maker)
		one.choices(w)
		one.word(w)
		if m != nil && bytes.Count(m.Bytes(), []byte("\n"))+bytes.Count(one.Bytes(), []byte("\n")) > most {
			flush()
		}
		begin()
		m.Write(one.Bytes())
	}
	begin()
	kinds := make(map[string]bool)
	for _, w := range words {
		if s := shapeOf(w); w.Gives == lang.GivesPart && s.embeds == "part" && !kinds[w.Of] {
			kinds[w.Of] = true
			kind := "Any" + camel(w.Of)
			m.line("\n// %s is a part that is a %s.\ntype %s interface {\n\tvaluer\n\tany%s()\n}", kind, w.Of, kind,
				camel(w.Of))
		}
	}
	flush()
	return files
}
