// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	configv1alpha1 "sluice.dev/apis/config/v1alpha1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
)

// Fault is what is wrong with a rule.
type Fault struct {
	// Field is where, as in spec.rules.health.expression.
	Field string
	// Detail is what.
	Detail string
}

// String is the fault for people.
func (f Fault) String() string { return f.Field + ": " + f.Detail }

// Compile turns rules into abilities, and returns the faults of the rules. An ability
// whose rule has a fault always returns that fault as its error.
func Compile(spec configv1alpha1.ResourceInterpreterSpec) (kinds.Own, []Fault) {
	c := compiler{}
	if c.env, c.broken = environment(); c.broken != nil {
		c.fault("spec.rules", c.broken)
	}
	c.target(spec.Target)
	r := spec.Rules
	var own kinds.Own
	if r.Replicas != nil {
		own.Replicas, own.SetReplicas = c.replicas(*r.Replicas)
	}
	if r.Health != nil {
		own.Health = health(c.rule("health", r.Health, cel.BoolType, cel.StringType))
	}
	if r.Status != nil {
		own.Report = status(c.rule("status", r.Status, cel.MapType(cel.StringType, cel.DynType)))
	}
	if r.AggregatedStatus != nil {
		own.Total = total(c.rule("aggregatedStatus", r.AggregatedStatus, cel.MapType(cel.StringType, cel.DynType)))
	}
	if r.Dependencies != nil {
		own.References = dependencies(c.rule("dependencies", r.Dependencies, cel.ListType(cel.DynType)))
	}
	for i, text := range r.MemberFields {
		if p, err := kinds.ParsePath(text); err != nil {
			c.fault(fmt.Sprintf("spec.rules.memberFields[%d]", i), err)
		} else {
			own.MemberFields = append(own.MemberFields, p)
		}
	}
	return own, c.faults
}

// KindOf is the kind that rules are for.
func KindOf(t configv1alpha1.Target) schema.GroupKind {
	return schema.FromAPIVersionAndKind(t.APIVersion, t.Kind).GroupKind()
}

type compiler struct {
	env    *cel.Env
	broken error
	faults []Fault
}

func (c *compiler) fault(field string, err error) {
	c.faults = append(c.faults, Fault{field, err.Error()})
}

// target checks the kind. A Secret may not have rules, for these could reveal its data.
func (c *compiler) target(t configv1alpha1.Target) {
	if _, err := schema.ParseGroupVersion(t.APIVersion); err != nil || t.APIVersion == "" {
		c.fault("spec.target.apiVersion", fmt.Errorf("%q is no version of an API: write one as example.com/v1", t.APIVersion))
	}
	if errs := validation.IsDNS1035Label(strings.ToLower(t.Kind)); len(errs) > 0 {
		c.fault("spec.target.kind", fmt.Errorf("%q is no kind: write one as Widget", t.Kind))
	}
	if KindOf(t) == (schema.GroupKind{Kind: "Secret"}) {
		c.fault("spec.target.kind", errors.New("a Secret has no rules: they would read what it holds"))
	}
}

// answer evaluates a rule for an object; an error where the rule fails or has a fault.
type answer func(vars map[string]any) (any, error)

// rule compiles the rule of that name. One with a fault always returns it as an error.
func (c *compiler) rule(name string, r *configv1alpha1.Rule, says ...*cel.Type) (string, answer) {
	return name, c.expression(name, r.Expression, says...)
}

func (c *compiler) expression(name, text string, says ...*cel.Type) answer {
	field := "spec.rules." + name + ".expression"
	e, err := expression{}, c.broken
	if err == nil {
		if e, err = compile(c.env, text, name == "aggregatedStatus", says...); err != nil {
			c.fault(field, err)
		}
	}
	if err != nil {
		return func(map[string]any) (any, error) { return nil, fmt.Errorf("%s: %w", field, err) }
	}
	return func(vars map[string]any) (any, error) {
		v, err := e.eval(vars)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field, err)
		}
		return v, nil
	}
}

// of are the variables of a rule about one object.
func of(obj map[string]any) map[string]any { return map[string]any{object: obj, members: []any{}} }

// otherwise is the error of a rule whose result has the wrong form.
func otherwise(name string, v any, want string) error {
	return fmt.Errorf("spec.rules.%s.expression: says %s: want %s", name, short(fmt.Sprint(v)), want)
}

func (c *compiler) replicas(r configv1alpha1.ReplicasRule) (count func(map[string]any) (int32, error), set func(map[string]any, int32) error) {
	path, err := kinds.ParsePath(r.Path)
	if err != nil {
		c.fault("spec.rules.replicas.path", err)
		err = fmt.Errorf("spec.rules.replicas.path: %w", err)
	}
	set = func(obj map[string]any, n int32) error {
		if err != nil {
			return err
		}
		return path.Put(obj, int64(n))
	}
	if r.Expression == "" {
		return func(obj map[string]any) (int32, error) {
			if err != nil {
				return 0, err
			}
			v, ok := path.In(obj)
			if !ok {
				return 0, fmt.Errorf("%s: the object has no such field: where it may be absent, write an expression, such as object.?%s.orValue(1)", path, strings.Join(path, ".?"))
			}
			return whole(path.String(), v)
		}, set
	}
	says := c.expression("replicas", r.Expression, cel.IntType, cel.UintType, cel.DoubleType)
	return func(obj map[string]any) (int32, error) {
		v, failed := says(of(obj))
		if failed = errors.Join(err, failed); failed != nil {
			return 0, failed
		}
		return whole("spec.rules.replicas.expression", v)
	}, set
}

// whole is a number of replicas, however it was decoded.
func whole(what string, v any) (int32, error) {
	var n float64
	switch v := v.(type) {
	case int64:
		n = float64(v)
	case float64:
		n = v
	default:
		n = -1
	}
	if n < 0 || n > math.MaxInt32 || n != math.Trunc(n) {
		return 0, fmt.Errorf("%s: is %s: want a whole number of replicas", what, short(fmt.Sprint(v)))
	}
	return int32(n), nil
}

func health(name string, says answer) func(map[string]any) (kinds.Health, error) {
	return func(obj map[string]any) (kinds.Health, error) {
		v, err := says(of(obj))
		if err != nil {
			return workv1alpha1.ResourceUnknown, err
		}
		switch v {
		case true:
			return workv1alpha1.ResourceHealthy, nil
		case false:
			return workv1alpha1.ResourceUnhealthy, nil
		}
		text, _ := v.(string)
		if h := kinds.Health(text); slices.Contains([]kinds.Health{workv1alpha1.ResourceHealthy, workv1alpha1.ResourceUnhealthy, workv1alpha1.ResourceUnknown}, h) {
			return h, nil
		}
		return workv1alpha1.ResourceUnknown, otherwise(name, v, "a bool, 'Healthy', 'Unhealthy' or 'Unknown'")
	}
}

func status(name string, says answer) func(map[string]any) (map[string]any, error) {
	return func(obj map[string]any) (map[string]any, error) {
		v, err := says(of(obj))
		if err != nil {
			return nil, err
		}
		m, ok := v.(map[string]any)
		if !ok {
			return nil, otherwise(name, v, "a map")
		}
		return m, nil
	}
}

func total(name string, says answer) func(map[string]any, []kinds.Member) (map[string]any, error) {
	return func(template map[string]any, reported []kinds.Member) (map[string]any, error) {
		list := make([]any, len(reported))
		for i, m := range reported {
			if m.Status == nil {
				m.Status = map[string]any{}
			}
			list[i] = map[string]any{"cluster": m.Cluster, "status": m.Status}
		}
		v, err := says(map[string]any{object: template, members: list})
		if err != nil {
			return nil, err
		}
		said, ok := v.(map[string]any)
		if !ok {
			return nil, otherwise(name, v, "a map")
		}
		return said, nil
	}
}

func dependencies(name string, says answer) func(map[string]any) ([]propagation.TemplateKey, error) {
	return func(obj map[string]any) ([]propagation.TemplateKey, error) {
		v, err := says(of(obj))
		if err != nil {
			return nil, err
		}
		list, ok := v.([]any)
		if !ok {
			return nil, otherwise(name, v, "a list")
		}
		meta, _ := obj["metadata"].(map[string]any)
		namespace, _ := meta["namespace"].(string)
		keys := make([]propagation.TemplateKey, len(list))
		for i, e := range list {
			if keys[i], ok = reference(e, namespace); !ok {
				return nil, otherwise(name, e, "{apiVersion, kind, name}, and no namespace but the object's")
			}
		}
		return keys, nil
	}
}

// reference is the object that an element of a list names; false: it names none, or one
// of another namespace.
func reference(e any, namespace string) (propagation.TemplateKey, bool) {
	m, _ := e.(map[string]any)
	text := func(key string) string { s, _ := m[key].(string); return s }
	k := propagation.TemplateKey{APIVersion: text("apiVersion"), Kind: text("kind"), Namespace: namespace, Name: text("name")}
	here := m["namespace"] == nil || m["namespace"] == namespace
	return k, here && k.APIVersion != "" && k.Kind != "" && k.Name != ""
}
