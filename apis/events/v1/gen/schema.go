// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"
	"slices"
	"strings"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/apis/keys"
)

// schema is a JSON schema, or a part of one.
type schema = map[string]any

// schemaOf is the schema of all payloads: one definition for each type of
// event. Fields that it does not know are allowed, for later ones.
func schemaOf(c *contract) schema {
	defs := schema{}
	data := object(reflect.TypeFor[events.Data](), defs)
	for name, text := range c.fields {
		f, _ := reflect.TypeFor[events.Data]().FieldByName(name)
		data["properties"].(schema)[jsonName(f)].(schema)["description"] = text
	}
	defs["data"] = data
	for _, t := range c.types {
		d := schema{"description": t.Tells, "$ref": "#/$defs/data"}
		required(d, t.Needs)
		defs[t.name] = d
	}
	return schema{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id":     "https://sluice.dev/schemas/events/v1.json",
		"title":   "Payloads of Sluice's events, by type",
		"$defs":   defs,
	}
}

// object describes a struct. What must be there must not be empty.
// required says which fields the type has always. A Work has either a binding or
// a placement, and instead of it and its cluster there may be the Works of several.
func required(d schema, needs []events.Field) {
	if slices.Contains(needs, events.FieldBinding) && slices.Contains(needs, events.FieldWork) {
		of := []events.Field{events.FieldBinding, events.FieldWork, events.FieldCluster}
		needs = slices.DeleteFunc(slices.Clone(needs), func(f events.Field) bool { return slices.Contains(of, f) })
		var either []schema
		for _, owner := range []events.Field{events.FieldBinding, events.FieldPlacement} {
			either = append(either, schema{"required": []events.Field{owner, events.FieldWork, events.FieldCluster}},
				schema{"required": []events.Field{owner, events.FieldWorks}})
		}
		d["anyOf"] = either
	}
	if len(needs) > 0 {
		d["required"] = needs
	}
}

func object(t reflect.Type, defs schema) schema {
	properties, required := schema{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		p := property(f.Type, defs)
		properties[jsonName(f)] = p
		if !strings.Contains(f.Tag.Get("json"), ",omitempty") {
			required = append(required, jsonName(f))
			if p["type"] == "string" && p["enum"] == nil {
				p["minLength"] = 1
			}
		}
	}
	s := schema{"type": "object", "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func property(t reflect.Type, defs schema) schema {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Map:
		return schema{"type": "object", "additionalProperties": schema{"type": "string"}}
	case t.Kind() == reflect.Struct:
		if defs[t.Name()] == nil {
			defs[t.Name()] = object(t, defs)
		}
		return schema{"$ref": "#/$defs/" + t.Name()}
	case t == reflect.TypeFor[keys.Scope]():
		return schema{"type": "string", "enum": keys.Scopes}
	case t == reflect.TypeFor[keys.Form]():
		return schema{"type": "string", "enum": keys.Forms}
	}
	return schema{"type": "string"}
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
