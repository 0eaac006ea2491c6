// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command gen writes what people and programs read about the events:
// docs/events.md, docs/events.schema.json and config/600-eventing/eventtypes.yaml.
// It takes each thing from where it is decided: the types and their needs from the
// event contract, who emits them from the stages' code, who consumes them from the
// Triggers of config.
//
//	go generate ./apis/events/v1/gen
//	go run ./apis/events/v1/gen
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run .

func main() {
	root, err := moduleRoot()
	if err == nil {
		err = write(root)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// write brings all of them up to date.
func write(root string) error {
	c, err := readContract(root)
	if err != nil {
		return err
	}
	var schema bytes.Buffer
	enc := json.NewEncoder(&schema)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(schemaOf(c)); err != nil {
		return fmt.Errorf("encode the schema: %w", err)
	}
	return errors.Join(
		os.WriteFile(filepath.Join(root, "docs", "events.md"), pageOf(c), 0o644),
		os.WriteFile(filepath.Join(root, "docs", "events.schema.json"), schema.Bytes(), 0o644),
		os.WriteFile(filepath.Join(root, "config", "600-eventing", "eventtypes.yaml"), eventTypesOf(c), 0o644),
	)
}

// moduleRoot is the nearest folder above that has a go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("no go.mod above the working directory")
		}
		dir = up
	}
}
