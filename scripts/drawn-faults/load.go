package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A room is a package whose faults are drawn.
type room struct {
	path   string // its import path
	folder string // relative to the root
	names  []string
	texts  map[string][]byte // by file, relative to the root
	files  map[string]*ast.File
	set    *token.FileSet
	imp    types.Importer
	faults []*Fault
}

// load reads packages, named by their folders, and lists their faults. It compiles their imports.
func load(folders []string) ([]*room, error) {
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles",
		"kpsim/scripts/drawn-faults/on"}, dotted(folders)...)
	cmd := exec.Command("go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: run it where go.mod is", err)
	}
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	exports := make(map[string]string)
	byFolder := make(map[string]*room)
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Export, Dir string
			GoFiles                 []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		exports[p.ImportPath] = p.Export
		if folder, err := filepath.Rel(root, p.Dir); err == nil {
			byFolder[folder] = &room{path: p.ImportPath, folder: folder, names: p.GoFiles}
		}
	}
	set := token.NewFileSet()
	imp := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var rooms []*room
	for _, folder := range folders {
		r := byFolder[filepath.Clean(folder)]
		if r == nil {
			return nil, fmt.Errorf("%s: no Go package is there", folder)
		}
		r.set, r.imp = set, imp
		if err := r.find(); err != nil {
			return nil, err
		}
		rooms = append(rooms, r)
	}
	return rooms, nil
}

func dotted(folders []string) (list []string) {
	for _, f := range folders {
		list = append(list, "./"+filepath.Clean(f))
	}
	return list
}

// find reads the files and lists their faults.
func (r *room) find() error {
	r.texts, r.files = make(map[string][]byte), make(map[string]*ast.File)
	for _, name := range r.names {
		name = filepath.Join(r.folder, name)
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(r.set, name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		r.texts[name], r.files[name] = text, file
	}
	info := &types.Info{Types: make(map[ast.Expr]types.TypeAndValue), Uses: make(map[*ast.Ident]types.Object)}
	pkg, err := r.check(r.files, info)
	if err != nil {
		return err
	}
	for _, name := range r.names {
		name = filepath.Join(r.folder, name)
		f := finder{set: r.set, info: info, pkg: pkg, file: r.files[name], name: name, text: r.texts[name],
			seen: make(map[string]int)}
		r.faults = append(r.faults, f.find()...)
	}
	return nil
}

func (r *room) check(files map[string]*ast.File, info *types.Info) (*types.Package, error) {
	var list []*ast.File
	for _, name := range r.names {
		list = append(list, files[filepath.Join(r.folder, name)])
	}
	c := types.Config{Importer: r.imp}
	return c.Check(r.path, r.set, list, info)
}

// compiles reports whether the package compiles with one fault in it.
func (r *room) compiles(x *Fault) bool {
	file, err := parser.ParseFile(r.set, x.File, rewrite(r.texts[x.File], map[int]*Fault{1: x}),
		parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	files := make(map[string]*ast.File, len(r.files))
	for name, f := range r.files {
		files[name] = f
	}
	files[x.File] = file
	_, err = r.check(files, nil)
	return err == nil
}

// draw draws n faults of the packages, each with the same probability, that compile and don't clash.
func draw(rooms []*room, n int, seed uint64) []*Fault {
	type place struct {
		r *room
		x *Fault
	}
	var all []place
	for _, r := range rooms {
		for _, x := range r.faults {
			all = append(all, place{r, x})
		}
	}
	rnd := rand.New(rand.NewPCG(seed, 0))
	rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var list []*Fault
next:
	for _, p := range all {
		if len(list) == n {
			break
		}
		for _, x := range list {
			if clash(x, p.x) {
				continue next
			}
		}
		if p.r.compiles(p.x) {
			list = append(list, p.x)
		}
	}
	return list
}
