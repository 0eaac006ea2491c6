// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command images stands in for ko where no registry and no base image can be
// reached: it builds Go programs, wraps each in an image with nothing else but
// CA certificates and a passwd file, and writes all of them to one archive that
// `ctr images import` reads. It needs the standard library alone.
//
//	images [-C dir] -out images.tar -map images.map import/path[=name]...
//
// Each line of the map is "ko://import/path image-reference", so that
// `images -resolve -map images.map < in.yaml` can do what `ko resolve` does.
//
// The references begin with dev.local/, a prefix whose tags Knative Serving
// leaves unresolved, and their tags are digests of the programs, so a changed
// program is a changed reference.
package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

const user = "65532:65532"

func main() {
	log.SetFlags(0)
	log.SetPrefix("images: ")
	dir := flag.String("C", ".", "directory of the Go module to build in")
	bin := flag.String("bin", "", "directory for the programs (default: beside -out)")
	out := flag.String("out", "", "archive to write")
	mapFile := flag.String("map", "", "file of ko:// references and what they stand for")
	jobs := flag.Int("j", 2, "programs to build at once")
	resolve := flag.Bool("resolve", false, "rewrite the ko:// references of standard input")
	flag.Parse()
	var err error
	if *resolve {
		err = resolveRefs(*mapFile, os.Stdin, os.Stdout)
	} else {
		if *bin == "" {
			*bin = filepath.Join(filepath.Dir(*out), "bin")
		}
		err = build(*dir, *bin, *out, *mapFile, *jobs, flag.Args())
	}
	if err != nil {
		log.Fatal(err)
	}
}

// imageName makes knative.dev/eventing/cmd/broker/filter eventing-broker-filter.
func imageName(pkg string) string {
	_, rest, ok := strings.Cut(pkg, "/")
	if !ok {
		rest = pkg
	}
	rest = strings.ReplaceAll(rest, "/cmd/", "/")
	return strings.NewReplacer("/", "-", "_", "-", ".", "-").Replace(rest)
}

type program struct{ pkg, name, file, kodata string }

func build(dir, bin, out, mapFile string, jobs int, args []string) error {
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	progs := make([]program, len(args))
	errs := make([]error, len(args))
	slots := make(chan struct{}, jobs)
	var wg sync.WaitGroup
	for i, arg := range args {
		pkg, name, ok := strings.Cut(arg, "=")
		if !ok {
			name = imageName(pkg)
		}
		progs[i] = program{pkg: pkg, name: name, file: filepath.Join(bin, name)}
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			progs[i].kodata, errs[i] = compile(dir, progs[i])
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("%s: %w", args[i], err)
		}
	}

	f, err := os.Create(out)
	if err != nil {
		return err
	}
	defer f.Close()
	tw := tar.NewWriter(f)
	var manifest []map[string]any
	var refs strings.Builder
	for _, p := range progs {
		entry, err := writeImage(tw, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		manifest = append(manifest, entry)
		fmt.Fprintf(&refs, "ko://%s %s\n", p.pkg, entry["RepoTags"].([]string)[0])
	}
	raw, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	if err := writeFile(tw, "manifest.json", 0o644, raw); err != nil {
		return err
	}
	if err := tw.Close(); err != nil {
		return err
	}
	return os.WriteFile(mapFile, []byte(refs.String()), 0o644)
}

// compile builds one program, and says where its kodata folder is, if it has one.
func compile(dir string, p program) (string, error) {
	cmd := exec.Command("go", "build", "-C", dir, "-trimpath", "-ldflags=-s -w", "-o", p.file, p.pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if msg, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, msg)
	}
	src, err := exec.Command("go", "list", "-C", dir, "-f", "{{.Dir}}", p.pkg).Output()
	if err != nil {
		return "", err
	}
	kodata := filepath.Join(strings.TrimSpace(string(src)), "kodata")
	if _, err := os.Stat(kodata); err != nil {
		return "", nil
	}
	return kodata, nil
}

// writeImage adds an image's configuration and its one layer to the archive,
// and returns its line of the archive's manifest.
func writeImage(tw *tar.Writer, p program) (map[string]any, error) {
	layer, err := layerOf(p)
	if err != nil {
		return nil, err
	}
	diff := fmt.Sprintf("%x", sha256.Sum256(layer))
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config": map[string]any{
			"User":       user,
			"WorkingDir": "/",
			"Entrypoint": []string{"/ko-app/" + p.name},
			"Env":        []string{"PATH=/ko-app", "KO_DATA_PATH=/var/run/ko", "SSL_CERT_FILE=/" + certificates},
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + diff}},
		"history": []map[string]any{{"created_by": "images"}},
	})
	if err != nil {
		return nil, err
	}
	configName := fmt.Sprintf("%x.json", sha256.Sum256(config))
	layerName := diff + ".tar"
	if err := writeFile(tw, configName, 0o644, config); err != nil {
		return nil, err
	}
	if err := writeFile(tw, layerName, 0o644, layer); err != nil {
		return nil, err
	}
	return map[string]any{
		"Config":   configName,
		"RepoTags": []string{"dev.local/" + p.name + ":" + diff[:12]},
		"Layers":   []string{layerName},
	}, nil
}

const certificates = "etc/ssl/certs/ca-certificates.crt"

// layerOf is the one layer of a program's image.
func layerOf(p program) ([]byte, error) {
	prog, err := os.ReadFile(p.file)
	if err != nil {
		return nil, err
	}
	certs, err := os.ReadFile("/" + certificates)
	if err != nil {
		return nil, err
	}
	var layer bytes.Buffer
	tw := tar.NewWriter(&layer)
	for _, d := range []string{"tmp/", "etc/", "etc/ssl/", "etc/ssl/certs/", "ko-app/", "var/", "var/run/", "var/run/ko/"} {
		mode := int64(0o755)
		if d == "tmp/" {
			mode = 0o1777
		}
		if err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: d, Mode: mode}); err != nil {
			return nil, err
		}
	}
	for _, f := range []struct {
		name string
		mode int64
		data []byte
	}{
		{"etc/passwd", 0o644, []byte("root:x:0:0:root:/:/\nnonroot:x:65532:65532:nonroot:/:/\n")},
		{"etc/group", 0o644, []byte("root:x:0:\nnonroot:x:65532:\n")},
		{certificates, 0o644, certs},
		{"ko-app/" + p.name, 0o755, prog},
	} {
		if err := writeFile(tw, f.name, f.mode, f.data); err != nil {
			return nil, err
		}
	}
	if p.kodata != "" {
		if err := writeTree(tw, p.kodata, "var/run/ko"); err != nil {
			return nil, err
		}
	}
	return layer.Bytes(), tw.Close()
}

func writeTree(tw *tar.Writer, dir, under string) error {
	return filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return writeFile(tw, path.Join(under, filepath.ToSlash(rel)), 0o644, data)
	})
}

func writeFile(tw *tar.Writer, name string, mode int64, data []byte) error {
	if err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(data))}); err != nil {
		return err
	}
	_, err := tw.Write(data)
	return err
}

// resolveRefs copies YAML, putting image references where ko:// references
// were; one that is not in the map stays, and a pod that needs it will say so.
func resolveRefs(mapFile string, in io.Reader, out io.Writer) error {
	raw, err := os.ReadFile(mapFile)
	if err != nil {
		return err
	}
	yaml, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	lines := strings.Split(string(yaml), "\n")
	refs := map[string]string{}
	for _, l := range strings.Split(string(raw), "\n") {
		if from, to, ok := strings.Cut(l, " "); ok {
			refs[from] = to
		}
	}
	for i, l := range lines {
		at := strings.Index(l, "ko://")
		if at < 0 {
			continue
		}
		from := strings.Trim(strings.TrimSpace(l[at:]), `"'`)
		if to, ok := refs[from]; ok {
			lines[i] = strings.Replace(l, from, to, 1)
		}
	}
	_, err = io.WriteString(out, strings.Join(lines, "\n"))
	return err
}
