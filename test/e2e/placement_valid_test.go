// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fields is part of an object.
type fields = map[string]any

// with is p with what more says besides, and otherwise.
func with(p fields, more fields) fields {
	p = maps.Clone(p)
	maps.Copy(p, more)
	return p
}

// names are that many names of clusters.
func names(n int) []any {
	var all []any
	for i := range n {
		all = append(all, fmt.Sprintf("member-%d", i))
	}
	return all
}

var (
	fixedOne  = fields{"placementType": "PickFixed", "clusterNames": list("member1")}
	pickAll   = fields{"placementType": "PickAll"}
	pickTwo   = pickN(2)
	affine    = fields{"affinity": wanting("env", "prod")}
	preferred = fields{"affinity": fields{"clusterAffinity": fields{"preferredDuringSchedulingIgnoredDuringExecution": []any{
		fields{"weight": int64(20), "preference": fields{"labelSelector": fields{"matchLabels": fields{"env": "prod"}}}},
	}}}}
	notPreferred = fields{"affinity": fields{"clusterAffinity": fields{"preferredDuringSchedulingIgnoredDuringExecution": []any{}}}}
	tolerant     = fields{"tolerations": []any{fields{"key": "a", "operator": "Exists"}}}
	spreadOver   = fields{spreading: []any{fields{"topologyKey": "env"}}}
)

// placementRules are those that an API server holds a placement to, each by what breaks it and by
// the nearest that does not; words: what the refusal says.
var placementRules = map[string]struct {
	policy, strategy fields
	words            string
}{
	"C96: PickFixed of a name":                          {policy: fixedOne},
	"C96: PickFixed without names":                      {policy: fields{"placementType": "PickFixed"}, words: "clusterNames cannot be empty for PickFixed"},
	"C96: PickFixed of no names":                        {policy: with(fixedOne, fields{"clusterNames": []any{}}), words: "clusterNames cannot be empty for PickFixed"},
	"C96: a name twice":                                 {policy: with(fixedOne, fields{"clusterNames": list("member1", "member2", "member1")}), words: "must be unique"},
	"C96: names that differ in one letter":              {policy: with(fixedOne, fields{"clusterNames": list("member1", "member2", "member")})},
	"C96: an empty name":                                {policy: with(fixedOne, fields{"clusterNames": list("")}), words: "at least 1 chars"},
	"C96: an empty name beside another":                 {policy: with(fixedOne, fields{"clusterNames": list("member1", "")}), words: "at least 1 chars"},
	"C96: a name of 63 characters":                      {policy: with(fixedOne, fields{"clusterNames": list(strings.Repeat("a", 63))})},
	"C96: a name of 64 characters":                      {policy: with(fixedOne, fields{"clusterNames": list(strings.Repeat("a", 64))}), words: "63"},
	"C96: 100 names":                                    {policy: with(fixedOne, fields{"clusterNames": names(100)})},
	"C96: 101 names":                                    {policy: with(fixedOne, fields{"clusterNames": names(101)}), words: "at most 100"},
	"C96: PickFixed with a number":                      {policy: with(fixedOne, fields{"numberOfClusters": int64(1)}), words: "numberOfClusters must not be set for PickFixed"},
	"C96: PickFixed with the number 0":                  {policy: with(fixedOne, fields{"numberOfClusters": int64(0)}), words: "numberOfClusters must not be set for PickFixed"},
	"C96: PickFixed with required affinity":             {policy: with(fixedOne, affine), words: "affinity must not be set for PickFixed"},
	"C96: PickFixed with preferred affinity":            {policy: with(fixedOne, preferred), words: "affinity must not be set for PickFixed"},
	"C96: PickFixed with spread":                        {policy: with(fixedOne, spreadOver), words: "topologySpreadConstraints must be empty for PickFixed"},
	"C96: PickFixed with no spread":                     {policy: with(fixedOne, fields{spreading: []any{}})},
	"C96: PickFixed with tolerations":                   {policy: with(fixedOne, tolerant), words: "tolerations must be empty for PickFixed"},
	"C96: PickFixed with no tolerations":                {policy: with(fixedOne, fields{"tolerations": []any{}})},
	"C97: PickAll with names":                           {policy: with(pickAll, fields{"clusterNames": list("member1")}), words: "clusterNames must be empty for PickAll"},
	"C97: no type, which is PickAll, with names":        {policy: fields{"clusterNames": list("member1")}, words: "clusterNames must be empty for PickAll"},
	"C97: PickAll with no names":                        {policy: with(pickAll, fields{"clusterNames": []any{}})},
	"C97: PickAll with a number":                        {policy: with(pickAll, fields{"numberOfClusters": int64(1)}), words: "numberOfClusters must not be set for PickAll"},
	"C97: PickAll with the number 0":                    {policy: with(pickAll, fields{"numberOfClusters": int64(0)}), words: "numberOfClusters must not be set for PickAll"},
	"C97: no type with a number":                        {policy: fields{"numberOfClusters": int64(1)}, words: "numberOfClusters must not be set for PickAll"},
	"C97: PickAll with spread":                          {policy: with(pickAll, spreadOver), words: "topologySpreadConstraints must be empty for PickAll"},
	"C97: PickAll with no spread":                       {policy: with(pickAll, fields{spreading: []any{}})},
	"C97: PickAll with preferred affinity":              {policy: with(pickAll, preferred), words: "preferredDuringSchedulingIgnoredDuringExecution must be empty for PickAll"},
	"C97: PickAll with no preferred affinity":           {policy: with(pickAll, notPreferred)},
	"C97: PickAll with required affinity, tolerations":  {policy: with(with(pickAll, affine), tolerant)},
	"C98: PickN without a number":                       {policy: fields{"placementType": "PickN"}, words: "numberOfClusters must be set for PickN"},
	"C98: PickN of -1":                                  {policy: pickN(-1), words: "greater than or equal to 0"},
	"C98: PickN of 0":                                   {policy: pickN(0)},
	"C98: PickN with names":                             {policy: with(pickTwo, fields{"clusterNames": list("member1")}), words: "clusterNames must be empty for PickN"},
	"C98: PickN with no names":                          {policy: with(pickTwo, fields{"clusterNames": []any{}})},
	"C98: PickN with all that it may have":              {policy: with(with(with(pickTwo, preferred), tolerant), spreadOver)},
	"C98: PickN with required affinity":                 {policy: with(pickTwo, affine)},
	"a type that there is not":                          {policy: with(pickTwo, fields{"placementType": "PickSome"}), words: "Unsupported value"},
	"a type in lower case":                              {policy: with(pickTwo, fields{"placementType": "pickN"}), words: "Unsupported value"},
	"C42: a skew of 0":                                  {policy: with(pickTwo, fields{spreading: []any{fields{"topologyKey": "env", "maxSkew": int64(0)}}}), words: "greater than or equal to 1"},
	"C42: a spread over nothing":                        {policy: with(pickTwo, fields{spreading: []any{fields{"maxSkew": int64(1)}}}), words: "topologyKey"},
	"C42: a spread that is not understood":              {policy: with(pickTwo, fields{spreading: []any{fields{"topologyKey": "env", "whenUnsatisfiable": "Perhaps"}}}), words: "Unsupported value"},
	"C40: a weight of -100":                             {policy: with(pickTwo, weighing(-100))},
	"C40: a weight of 101":                              {policy: with(pickTwo, weighing(101)), words: "less than or equal to 100"},
	"C41: an operator of labels that there is not":      {policy: with(pickTwo, fields{"affinity": labelled("Near", "prod")}), words: "Near"},
	"C41: a label in no values":                         {policy: with(pickTwo, fields{"affinity": labelled("In")}), words: "values"},
	"C41: a label in values":                            {policy: with(pickTwo, fields{"affinity": labelled("In", "prod")})},
	"C55: an effect that there is not":                  {policy: with(pickTwo, fields{"tolerations": []any{fields{"key": "a", "operator": "Exists", "effect": "NoExecute"}}}), words: "Unsupported value"},
	"C55: an operator that there is not":                {policy: with(pickTwo, fields{"tolerations": []any{fields{"key": "a", "operator": "Gt"}}}), words: "Unsupported value"},
	"C56: Exists with a value":                          {policy: with(pickTwo, fields{"tolerations": []any{fields{"key": "a", "operator": "Exists", "value": "b"}}}), words: "value must be empty when operator is Exists"},
	"C56: no key with a value":                          {policy: with(pickTwo, fields{"tolerations": []any{fields{"value": "b"}}}), words: "operator must be Exists when key is empty"},
	"C56: no key with Exists":                           {policy: with(pickTwo, fields{"tolerations": []any{fields{"operator": "Exists"}}})},
	"C61: a type of rollout that there is not":          {strategy: fields{"type": "Recreate"}, words: "Unsupported value"},
	"C99: a period of -1":                               {strategy: pacing("unavailablePeriodSeconds", int64(-1)), words: "greater than or equal to 0"},
	"C99: a period of 0":                                {strategy: pacing("unavailablePeriodSeconds", int64(0))},
	"C99: -5% unavailable":                              {strategy: pacing("maxUnavailable", "-5%"), words: "maxUnavailable"},
	"C99: 0% unavailable":                               {strategy: pacing("maxUnavailable", "0%")},
	"C99: 100% unavailable":                             {strategy: pacing("maxUnavailable", "100%")},
	"C99: 101% unavailable":                             {strategy: pacing("maxUnavailable", "101%"), words: "maxUnavailable"},
	"C99: 1 unavailable, as a string":                   {strategy: pacing("maxUnavailable", "1")},
	"C99: -1 unavailable":                               {strategy: pacing("maxUnavailable", int64(-1)), words: "must not be negative"},
	"C99: 0 unavailable":                                {strategy: pacing("maxUnavailable", int64(0))},
	"C99: some unavailable":                             {strategy: pacing("maxUnavailable", "some"), words: "maxUnavailable"},
	"C99: a surge of -5%":                               {strategy: pacing("maxSurge", "-5%"), words: "maxSurge"},
	"C99: a surge of -1":                                {strategy: pacing("maxSurge", int64(-1)), words: "must not be negative"},
	"C99: a surge of 0":                                 {strategy: pacing("maxSurge", int64(0))},
	"C101: a config without server-side apply":          {strategy: fields{"applyStrategy": fields{"serverSideApplyConfig": fields{"force": true}}}, words: "only valid for ServerSideApply"},
	"C101: a config with client-side apply":             {strategy: fields{"applyStrategy": fields{"type": "ClientSideApply", "serverSideApplyConfig": fields{"force": false}}}, words: "only valid for ServerSideApply"},
	"C101: a config with ReportDiff":                    {strategy: fields{"applyStrategy": fields{"type": "ReportDiff", "serverSideApplyConfig": fields{"force": true}}}, words: "only valid for ServerSideApply"},
	"C101: a config with server-side apply":             {strategy: fields{"applyStrategy": fields{"type": "ServerSideApply", "serverSideApplyConfig": fields{"force": true}}}},
	"C101: server-side apply without a config":          {strategy: fields{"applyStrategy": fields{"type": "ServerSideApply"}}},
	"C74: a way to take over that there is not":         {strategy: fields{"applyStrategy": fields{"whenToTakeOver": "Sometimes"}}, words: "Unsupported value"},
	"C76: a way to apply that there is not":             {strategy: fields{"applyStrategy": fields{"whenToApply": "Sometimes"}}, words: "Unsupported value"},
	"C102: a way to delete that there is not":           {strategy: fields{"deleteStrategy": fields{"propagationPolicy": "Orphan"}}, words: "Unsupported value"},
	"C102: what is left in the members at the deletion": {strategy: fields{"deleteStrategy": fields{"propagationPolicy": "Abandon"}}},
}

func weighing(weight int64) fields {
	return fields{"affinity": fields{"clusterAffinity": fields{"preferredDuringSchedulingIgnoredDuringExecution": []any{
		fields{"weight": weight, "preference": fields{"labelSelector": fields{"matchLabels": fields{"env": "prod"}}}},
	}}}}
}

// labelled is a required affinity by the label env.
func labelled(operator string, values ...string) fields {
	return fields{"clusterAffinity": fields{"requiredDuringSchedulingIgnoredDuringExecution": fields{"clusterSelectorTerms": []any{
		fields{"labelSelector": fields{"matchExpressions": []any{fields{"key": "env", "operator": operator, "values": list(values...)}}}},
	}}}}
}

func pacing(field string, value any) fields {
	return fields{"rollingUpdate": fields{field: value}}
}

// Each rule of placements holds at creation, and for the edit of one that stands.
func TestC95C96C97C98C99C101Validation(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		ask := func(o thing) error {
			_, err := s.lab.hub.on(placements, "").Apply(s.Context(), o.name(), o.object(), metav1.ApplyOptions{FieldManager: "e2e", Force: true, DryRun: []string{metav1.DryRunAll}})
			return err
		}
		check := func(name string, err error, words string) {
			switch {
			case words == "" && err != nil:
				s.Errorf("%s: refused: %v", name, err)
			case words != "" && err == nil:
				s.Errorf("%s: accepted", name)
			case words != "" && (!isRefusal(err) || !strings.Contains(err.Error(), words)):
				s.Errorf("%s: %v, want a refusal that says %q", name, err, words)
			}
		}
		standing := map[any]thing{}
		for _, policy := range []fields{fixedOne, pickAll, pickTwo} {
			p := s.nowhere().with("metadata.name", s.unique(strings.ToLower(fmt.Sprint(policy["placementType"])))).with("spec.policy", policy)
			s.Apply(p)
			standing[policy["placementType"]] = p
		}
		for name, r := range placementRules {
			if r.policy == nil {
				r.policy = pickTwo
			}
			edit := func(p thing) thing {
				p = p.with("spec.policy", r.policy)
				if r.strategy != nil {
					p = p.with("spec.strategy", r.strategy)
				}
				return p
			}
			check(name, ask(edit(s.nowhere())), r.words)
			base, known := standing[r.policy["placementType"]]
			if !known {
				base = standing["PickAll"]
			}
			if r.policy["placementType"] == "PickSome" || r.policy["placementType"] == "pickN" {
				continue // refused for not being the type that it was, too
			}
			check("an edit: "+name, ask(edit(base)), r.words)
		}
		for length, words := range map[int]string{63: "", 64: "63"} { // C95
			check(fmt.Sprintf("C95: a name of %d characters", length), ask(s.nowhere().with("metadata.name", strings.Repeat("a", length))), words)
		}
	})
}

// What is said once for all is refused to be changed, whichever it was.
func TestC93C94C100WhatNeverChanges(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		types := map[string]fields{"PickFixed": fixedOne, "PickAll": pickAll, "PickN": pickN(0)}
		for was, policy := range types {
			p := s.nowhere().with("metadata.name", s.unique(strings.ToLower(was))).with("spec.policy", policy)
			s.Apply(p)
			for is, other := range types {
				if is != was {
					s.refusesPlacement(p.with("spec.policy", other), "placement type is immutable")
				}
			}
			s.refusesPlacement(p.with("spec.policy", nil), "policy cannot be removed once set")
		}
		none := s.nowhere().with("metadata.name", s.unique("none")).with("spec.policy", nil) // which is PickAll
		s.Apply(none)
		s.refusesPlacement(none.with("spec.policy", fixedOne), "placement type is immutable")
		s.refusesPlacement(none.with("spec.policy", pickN(0)), "placement type is immutable")
		s.Apply(none.with("spec.policy", with(pickAll, affine)))

		p := s.nowhere()
		external := p.with("spec.strategy", map[string]any{"type": "External"})
		s.Apply(p, external)
		s.refusesPlacement(p.with("spec.strategy", map[string]any{"type": "RollingUpdate"}), "cannot be changed once set to 'External'")
		s.refusesPlacement(p, "cannot be changed once set to 'External'")
		s.Apply(external.with("spec.revisionHistoryLimit", int64(3)))
	})
}
