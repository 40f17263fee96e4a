package lang

import (
	"slices"
	"strings"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
)

// A Takes says which values a parameter takes, for those who write programs in another way than as text.
type Takes uint8

// The constants are all kinds of values.
const (
	TakesText            Takes = iota + 1 // a text
	TakesChoice                           // one of the words of the parameter
	TakesErrno                            // the name of an errno; 0 is success
	TakesHex                              // bytes, in hex
	TakesWritten                          // bytes, or what jump_to and the like give
	TakesInt                              // a number
	TakesInts                             // several
	TakesOneOrMoreWords                   // several, or one
	TakesWord                             // a word of 64 bits: a number, or the address of a function or of data
	TakesWords                            // several
	TakesAddr                             // an address, as a number
	TakesRest                             // several, not in brackets
	TakesBool                             // False or True
	TakesBools                            // one, or a list
	TakesFunc                             // a function, or an object's
	TakesFuncs                            // a list of them
	TakesOneOrMore                        // one, or a list
	TakesCallee                           // a function, or the name of one that the kernel exports
	TakesPlace                            // a place in a function
	TakesPlaces                           // a list of them
	TakesOneOrMorePlaces                  // one, or a list
	TakesAddress                          // a number, or a place in a function
	TakesData                             // data
	TakesDatas                            // a list of them
	TakesDataPlace                        // a place in data
	TakesPart                             // a part that Of makes, or the name of one further down
	TakesParts                            // a list of them
	TakesSteps                            // the steps of a handler
	TakesEntry                            // the steps of a handler, or a function
	TakesOps                              // the operations of a task
	TakesFill                             // the number of an argument, and bytes
	TakesFile                             // the path of an object file
)

// A Gives says what a function of the language gives.
type Gives uint8

// The constants are all that a function can give.
const (
	GivesNothing Gives = iota
	GivesPart          // a part of the list Of: "function", "probe"
	GivesObject        // an object, whose symbols are functions and data
	GivesInts          // numbers
	GivesStep          // a step of a handler
	GivesOp            // an operation of a task
	GivesBoth          // either
	GivesWritten       // what write() stores
)

// A Param is a parameter of a function of the language.
type Param struct {
	Name    string
	Default string // as a program has it; "": it is required
	Takes   Takes
	None    bool     // None is a value of its own, although the parameter is required
	Of      string   // of a part: what it is
	Words   []string // of a choice
	Says    string   // of machine(): its paragraph
}

// A Word is a function of the language, as a row that stubs, schemas and builders are made from.
type Word struct {
	Name, Chapter string
	Says          string // its paragraph in docs/scenarios.md
	Params        []Param
	Gives         Gives
	Of            string
}

// Words returns the whole language, in the order of docs/scenarios.md.
func Words() (list []Word) {
	for _, c := range chapters {
		for _, v := range c.verbs {
			w := wordOf(v.name())
			w.Name, w.Chapter, w.Says = v.name(), c.title, v.says
			list = append(list, w)
		}
	}
	return list
}

// wordOf returns the parameters of a function of the language, and what it gives.
func wordOf(name string) Word {
	for _, l := range scenario.Lists {
		for _, m := range l.Makers {
			if m.Word == name {
				return wordOfPart(l, m)
			}
		}
	}
	if i := slices.IndexFunc(scenario.Steps, func(k *scenario.StepKind) bool {
		return k.Word == name && k.Says != ""
	}); i >= 0 {
		return wordOfStep(scenario.Steps[i])
	}
	if k := act.Named(name); k != nil {
		return wordOfOperation(k)
	}
	if name == "machine" {
		return wordOfMachine()
	}
	return byHandWords[name]
}

func wordOfPart(l *scenario.List, m *scenario.Maker) (w Word) {
	if l.Given {
		w.Gives, w.Of = GivesPart, l.What
	}
	for _, a := range m.Params {
		p := Param{Name: a.Name, Default: a.Default, Takes: partTakes[a.Kind]}
		if a.Kind == scenario.PartWord {
			p.Words = a.At(l.New(m)).(scenario.Word).Words
		}
		w.Params = append(w.Params, p)
	}
	return w
}

func wordOfStep(k *scenario.StepKind) (w Word) {
	w.Gives = GivesStep
	for _, a := range k.Params {
		p := Param{Name: a.Name, Takes: stepTakes[a.Kind]}
		if p.Takes == TakesPart {
			p.Of = scenario.TheProbes.What
		}
		w.Params = append(w.Params, p)
	}
	return w
}

func wordOfOperation(k *scenario.Operation) (w Word) {
	if w.Gives = GivesOp; k.Step != nil {
		w.Gives = GivesBoth
	}
	for _, a := range k.Params {
		p := Param{Name: a.Name, Default: forms[a.Kind].otherwise, Takes: paramTakes[a.Kind],
			None: a.Kind == scenario.ParamCallee}
		if a.Of != nil {
			p.Of = a.Of.What
		}
		switch a.Kind {
		case scenario.ParamAwaited:
			p.Words = scenario.AwaitedWords
		case scenario.ParamDownFails, scenario.ParamUpFails:
			p.Words = scenario.FailWords(a.Kind == scenario.ParamDownFails)
		}
		w.Params = append(w.Params, p)
	}
	return w
}

func wordOfMachine() (w Word) {
	m := defaultMachine()
	for _, r := range scenario.Settings {
		if r.Says == "" {
			continue
		}
		p := Param{Name: r.Word, Default: settingValue(r, &m), Takes: settingTakes[r.Kind], Says: r.Says}
		if r.Kind == scenario.ValueWord {
			if p.Words = r.Words(); r.None {
				p.Words = r.Words()[1:]
			}
		}
		w.Params = append(w.Params, p)
	}
	return w
}

// settingTakes has a row for each kind of setting.
var settingTakes = [...]Takes{
	scenario.ValueNumber: TakesInt, scenario.ValueWord: TakesChoice, scenario.ValueSwitch: TakesBool,
	scenario.ValueCPUs: TakesInts, scenario.ValueName: TakesText, scenario.ValueBuild: TakesText,
}

// stepTakes has a row for each kind of parameter of steps.
var stepTakes = [...]Takes{
	scenario.StepReg: TakesText, scenario.StepNumber: TakesWord, scenario.StepAddress: TakesAddress,
	scenario.StepFunc: TakesFunc, scenario.StepData: TakesDataPlace, scenario.StepProbe: TakesPart,
}

// partTakes has a row for each kind of parameter of parts.
var partTakes = [...]Takes{
	scenario.PartName: TakesText, scenario.PartSymbol: TakesText, scenario.PartNumber: TakesInt,
	scenario.PartCPU: TakesInt, scenario.PartSwitch: TakesBool, scenario.PartWord: TakesChoice,
	scenario.PartSize: TakesInt, scenario.PartFunc: TakesFunc, scenario.PartRun: TakesFunc,
	scenario.PartFuncs: TakesFuncs, scenario.PartBlocks: TakesDatas, scenario.PartPlace: TakesPlace,
	scenario.PartOffset: TakesInt, scenario.PartAt: TakesAddr, scenario.PartCode: TakesHex,
	scenario.PartCodeSize: TakesInt, scenario.PartHex: TakesHex, scenario.PartRoom: TakesInt,
	scenario.PartBody: TakesHex, scenario.PartSpace: TakesInt, scenario.PartOffsets: TakesInts,
	scenario.PartKeySites: TakesOneOrMorePlaces, scenario.PartKeyTargets: TakesOneOrMorePlaces,
	scenario.PartKeyLikely: TakesBools, scenario.PartSites: TakesPlaces, scenario.PartTails: TakesPlaces,
	scenario.PartSteps: TakesSteps, scenario.PartEntry: TakesEntry, scenario.PartOps: TakesOps,
	scenario.PartArgs: TakesWords,
}

// paramTakes has a row for each kind of parameter of operations.
var paramTakes = [...]Takes{
	scenario.ParamPart: TakesPart, scenario.ParamParts: TakesParts, scenario.ParamFunc: TakesFunc,
	scenario.ParamInsn: TakesPlace, scenario.ParamData: TakesDataPlace, scenario.ParamBytes: TakesHex,
	scenario.ParamFuncs: TakesOneOrMore, scenario.ParamIntos: TakesOneOrMore, scenario.ParamInto: TakesFunc,
	scenario.ParamCallee: TakesFunc, scenario.ParamOn: TakesBool, scenario.ParamCPU: TakesInt,
	scenario.ParamDownFails: TakesChoice, scenario.ParamUpFails: TakesChoice, scenario.ParamArgs: TakesRest,
	scenario.ParamChanged: TakesBool, scenario.ParamReturns: TakesOneOrMoreWords, scenario.ParamBits: TakesInt,
	scenario.ParamErrno: TakesErrno, scenario.ParamPlace: TakesPlace, scenario.ParamWritten: TakesWritten,
	scenario.ParamBy: TakesInt, scenario.ParamOld: TakesHex, scenario.ParamStopped: TakesBool,
	scenario.ParamText: TakesHex, scenario.ParamBlock: TakesData, scenario.ParamSize: TakesInt,
	scenario.ParamStacks: TakesBool, scenario.ParamCPUs: TakesInts, scenario.ParamAwaited: TakesChoice,
	scenario.ParamGoto: TakesPlace, scenario.ParamRetry: TakesBool, scenario.ParamCalls: TakesFunc,
	scenario.ParamProbed: TakesBool, scenario.ParamNop: TakesFunc, scenario.ParamProcess: TakesInt,
	scenario.ParamRecurses: TakesInt, scenario.ParamLeaves: TakesInt, scenario.ParamRet: TakesFunc,
	scenario.ParamLinks: TakesBool, scenario.ParamSkips: TakesInts, scenario.ParamRemoves: TakesBool,
	scenario.ParamCount: TakesInt,
}

// byHandWords are the functions of the language that no row of scenario makes.
var byHandWords = map[string]Word{
	"scenario": {Params: []Param{{Name: "name", Default: "None", Takes: TakesText},
		{Name: "says", Default: `""`, Takes: TakesText},
		{Name: "needs", Default: Quote(scenario.NeedsWords[0]), Takes: TakesChoice, Words: scenario.NeedsWords}}},
	"elf": {Gives: GivesObject, Params: []Param{{Name: "file", Takes: TakesFile},
		{Name: "at", Default: "None", Takes: TakesAddr}}},
	"stub": {Gives: GivesPart, Of: scenario.TheTexts.What, Params: []Param{{Name: "name", Takes: TakesText},
		{Name: "returns", Default: "0", Takes: TakesWord}, {Name: "fill", Default: "None", Takes: TakesFill},
		{Name: "calls", Default: "None", Takes: TakesCallee}}},
	"insns":     {Gives: GivesInts, Params: []Param{{Name: "f", Takes: TakesFunc}}},
	"never":     {Params: []Param{{Name: "canary", Default: "None", Takes: TakesText}}},
	"sometimes": {Params: []Param{{Name: "property", Takes: TakesText}}},
	"jump_to":   writes(TakesPlace), "call_to": writes(TakesPlace), "displacement": writes(TakesPlace),
	"address": writes(TakesPlace), "saved": {Gives: GivesWritten, Params: []Param{{Name: "d", Takes: TakesData}}},
}

func writes(of Takes) Word {
	return Word{Gives: GivesWritten, Params: []Param{{Name: "f", Takes: of}}}
}

// String returns the parameter as a signature has it.
func (p Param) String() string {
	switch {
	case p.Takes == TakesRest:
		return "*" + p.Name
	case p.Default != "":
		return p.Name + " = " + p.Default
	}
	return p.Name
}

// Signature returns how the function is called: "register(k, errno = None)".
func (w Word) Signature() string {
	params := make([]string, len(w.Params))
	for i, p := range w.Params {
		params[i] = p.String()
	}
	return w.Name + "(" + strings.Join(params, ", ") + ")"
}
