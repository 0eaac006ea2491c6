// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	events "sluice.dev/apis/events/v1"
)

// published is docs/events.schema.json, with what of JSON schema it uses.
type published struct {
	t    *testing.T
	Defs map[string]*definition `json:"$defs"`
}

type definition struct {
	Ref        string                 `json:"$ref"`
	Type       string                 `json:"type"`
	Properties map[string]*definition `json:"properties"`
	Required   []string               `json:"required"`
	AnyOf      []*definition          `json:"anyOf"`
	Enum       []string               `json:"enum"`
	MinLength  int                    `json:"minLength"`
}

func readSchema(t *testing.T) published {
	t.Helper()
	p := published{t: t}
	raw, err := os.ReadFile("../../../docs/events.schema.json")
	if err != nil {
		t.Fatalf("%v: go generate ./apis/events/v1/gen writes it", err)
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// faults are what is wrong with v.
func (p published) faults(at string, d *definition, v any) (all []string) {
	p.t.Helper()
	if d.Ref != "" {
		to := p.Defs[strings.TrimPrefix(d.Ref, "#/$defs/")]
		if to == nil {
			p.t.Fatalf("%s leads nowhere", d.Ref)
		}
		all = p.faults(at, to, v)
	}
	switch x := v.(type) {
	case map[string]any:
		if d.Type == "string" {
			all = append(all, at+" is no string")
		}
		for _, name := range d.Required {
			if _, ok := x[name]; !ok {
				all = append(all, at+" lacks "+name)
			}
		}
		if len(d.AnyOf) > 0 && !slices.ContainsFunc(d.AnyOf, func(o *definition) bool { return len(p.faults(at, o, v)) == 0 }) {
			all = append(all, at+" has none of what it may have")
		}
		for name, value := range x {
			if property := d.Properties[name]; property != nil {
				all = append(all, p.faults(at+"."+name, property, value)...)
			} else if d.Properties != nil {
				all = append(all, at+"."+name+" is not described")
			}
		}
	case string:
		if d.Type == "object" {
			all = append(all, at+" is no object")
		}
		if len(x) < d.MinLength || len(d.Enum) > 0 && !slices.Contains(d.Enum, x) {
			all = append(all, fmt.Sprintf("%s cannot be %q", at, x))
		}
	}
	return all
}

func TestTheSchemaDescribesThePayloads(t *testing.T) {
	p := readSchema(t)
	for _, eventType := range types() {
		t.Run(eventType, func(t *testing.T) {
			p.t = t
			d := p.Defs[eventType]
			if d == nil {
				t.Fatal("has no schema: go generate ./apis/events/v1/gen")
			}
			var data map[string]any
			if err := json.Unmarshal(made(t, eventType).Data(), &data); err != nil {
				t.Fatal(err)
			}
			for _, fault := range p.faults("data", d, data) {
				t.Error(fault)
			}
			for _, need := range events.Catalog[eventType].Needs {
				was := data[string(need)]
				delete(data, string(need))
				if len(p.faults("data", d, data)) == 0 {
					t.Errorf("the schema does without %s", need)
				}
				data[string(need)] = was
			}
		})
	}
}
