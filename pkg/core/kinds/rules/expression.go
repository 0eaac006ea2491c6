// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
)

const (
	// MaxExpression is how many characters an expression has at most.
	MaxExpression = 8192
	// MaxCost is what one evaluation may cost: what the API server allows one call.
	MaxCost = 1_000_000
	// maxNodes is how many values an answer may have, those inside of it included.
	maxNodes = 50_000

	object  = "object"
	members = "members"
)

var errMissing = errors.New("is empty: it takes a CEL expression")

// environment is the language: CEL's own functions, optional fields, math.greatest and
// its like, and sum() of a list. Functions whose result may be far larger than their
// arguments (replace, format, range, flatten) are left out, for their cost is known
// only after they have run.
func environment() (*cel.Env, error) {
	thing := cel.MapType(cel.StringType, cel.DynType)
	env, err := cel.NewEnv(
		cel.Variable(object, thing), cel.Variable(members, cel.ListType(thing)),
		cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true), cel.DefaultUTCTimeZone(true), cel.ParserExpressionSizeLimit(MaxExpression),
		ext.Math(),
		cel.Function("sum", cel.MemberOverload("list_sum", []*cel.Type{cel.ListType(cel.DynType)}, cel.DynType, cel.UnaryBinding(sum))),
	)
	if err != nil {
		return nil, fmt.Errorf("make the language: %w", err)
	}
	return env, nil
}

// sum adds up the numbers of a list; 0 of an empty one.
func sum(list ref.Val) ref.Val {
	l, ok := list.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(list)
	}
	var total ref.Val = types.IntZero
	for i := l.Iterator(); i.HasNext() == types.True; {
		v := i.Next()
		switch v.(type) {
		case types.Int, types.Uint, types.Double:
		default:
			return types.NewErr("sum of a %s: it takes numbers", v.Type().TypeName())
		}
		if total.Type() != v.Type() {
			if total == types.IntZero {
				total = v
				continue
			}
			total, v = total.ConvertToType(types.DoubleType), v.ConvertToType(types.DoubleType)
		}
		adder, ok := total.(traits.Adder)
		if !ok {
			return total // an error of the conversion
		}
		total = adder.Add(v)
	}
	return total
}

// costs are the costs of calls that look at each element of a list, but that CEL's own
// cost tracker counts as one step, since it does not know the types inside an object.
type costs struct{}

// CallCost is the cost of a call; nil: the tracker's own.
func (costs) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	if function != operators.Add && function != operators.In && function != "sum" {
		return nil
	}
	cost, sized := uint64(1), false
	for _, a := range args {
		if s, ok := a.(traits.Sizer); ok {
			if n, ok := s.Size().(types.Int); ok && n > 0 {
				cost, sized = cost+uint64(n), true
			}
		}
	}
	if !sized {
		return nil
	}
	return &cost
}

// expression is one that compiled.
type expression struct {
	text    string
	program cel.Program
}

// compile checks an expression, whose result has to be of one of the types in says. A
// type that depends on the object is checked when the expression is evaluated.
func compile(env *cel.Env, text string, aggregates bool, says ...*cel.Type) (expression, error) {
	e := expression{text: text}
	switch {
	case strings.TrimSpace(text) == "":
		return e, errMissing
	case len(text) > MaxExpression:
		return e, fmt.Errorf("has %d characters: at most %d are allowed", len(text), MaxExpression)
	}
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		return e, fmt.Errorf("does not compile: %s", oneLine(issues.Err().Error()))
	}
	if is := ast.OutputType(); is.Kind() != types.DynKind && !slices.ContainsFunc(says, func(t *cel.Type) bool { return t.Kind() == is.Kind() }) {
		return e, fmt.Errorf("says a %s: want %s", is, alternatives(says))
	}
	if !aggregates && slices.ContainsFunc(slices.Collect(references(ast)), func(name string) bool { return name == members }) {
		return e, errors.New("names members, which aggregatedStatus alone has")
	}
	program, err := env.Program(ast, cel.CostLimit(MaxCost), cel.CostTracking(costs{}))
	if err != nil {
		return e, fmt.Errorf("cannot be run: %s", oneLine(err.Error()))
	}
	e.program = program
	return e, nil
}

// references are the variables that an expression names.
func references(ast *cel.Ast) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, r := range ast.NativeRep().ReferenceMap() {
			if r.Name != "" && !yield(r.Name) {
				return
			}
		}
	}
}

// eval evaluates the expression. The result is what JSON would decode to.
func (e expression) eval(vars map[string]any) (any, error) {
	v, _, err := e.program.Eval(vars)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", short(e.text), oneLine(err.Error()))
	}
	left := maxNodes
	out, err := plain(v, &left)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", short(e.text), err)
	}
	return out, nil
}

func alternatives(says []*cel.Type) string {
	names := make([]string, len(says))
	for i, t := range says {
		names[i] = t.TypeName()
	}
	return strings.Join(names, " or ")
}

// oneLine is a message without the drawing of where in the expression it is.
func oneLine(message string) string {
	first, _, _ := strings.Cut(message, "\n |")
	first, _, _ = strings.Cut(first, " expecting {")
	return strings.Join(strings.Fields(first), " ")
}

// short cuts an expression to the length that a message has room for.
func short(text string) string {
	const most = 120
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
