// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	configv1alpha1 "sluice.dev/apis/config/v1alpha1"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/kinds/rules"
)

type interpretOptions struct {
	*session
	output
	path    string
	with    string
	members []string
}

func interpretCommand(s *session) *cobra.Command {
	o := &interpretOptions{session: s}
	cmd := &cobra.Command{
		Use:   "interpret -f OBJECT",
		Short: "Show what Sluice knows about an object from its kind",
		Long: `Show what Sluice knows about an object from its kind: its number of replicas,
its health, which part of its status is reported, how the template's status is
computed from the members', which fields belong to the member, and what it
refers to.

The rules are those on the hub or, without any connection, those of --with: a
ResourceInterpreter that need not be applied yet. Each rule that has a fault or
fails is shown with its field and its expression, and the command fails. For a
kind without rules it shows what is built in, or what follows from conventions.`,
		Example: examples(`
			# Try rules before they are applied, without a hub
			kubectl sluice interpret -f widget.yaml --with interpreter.yaml

			# The template's status, computed from two members
			kubectl sluice interpret -f widget.yaml --with interpreter.yaml --members m1.yaml,m2.yaml

			# With the rules on the hub
			kubectl get widget blue -n shop -o yaml | kubectl sluice interpret -f -`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.path == "" {
				return usagef("-f is missing: it names a file with the object")
			}
			return o.run(cmd.Context())
		},
	}
	cmd.Flags().StringVarP(&o.path, "filename", "f", "", "file with the object; - is the standard input")
	cmd.Flags().StringVar(&o.with, "with", "", "file with a ResourceInterpreter to try instead of those on the hub")
	cmd.Flags().StringSliceVar(&o.members, "members", nil, "files with the members' objects, or their reported status; each file is named after its cluster")
	for _, flag := range []string{"filename", "with", "members"} {
		_ = cmd.MarkFlagFilename(flag, "yaml", "yml", "json")
	}
	o.addTo(cmd, formatYAML, formatJSON)
	return cmd
}

// interpretation is what is known of an object.
type interpretation struct {
	Object           string            `json:"object"`
	Rules            string            `json:"rules"`
	Replicas         *int32            `json:"replicas,omitempty"`
	Health           kinds.Health      `json:"health,omitempty"`
	Status           map[string]any    `json:"status,omitempty"`
	AggregatedStatus map[string]any    `json:"aggregatedStatus,omitempty"`
	MemberFields     []string          `json:"memberFields,omitempty"`
	Dependencies     []string          `json:"dependencies,omitempty"`
	Errors           map[string]string `json:"errors,omitempty"`
}

func (o *interpretOptions) run(ctx context.Context) error {
	u, err := o.one(o.path)
	if err != nil {
		return err
	}
	obj := u.Object
	if u.GetKind() == "" || u.GetAPIVersion() == "" {
		return fmt.Errorf("%s: apiVersion or kind is missing: name the file of an object", o.path)
	}
	known, from, err := o.known(ctx, u)
	if err != nil {
		return err
	}
	k := known.Of(obj)
	is := interpretation{Object: refOf(keyOf(u)), Rules: from, Errors: map[string]string{}}
	is.of(k, obj)
	if err := o.sum(&is, k, obj); err != nil {
		return err
	}
	if o.forMachines() {
		err = o.screen.Encode(o.format, is)
	} else {
		o.show(is)
	}
	if err == nil && len(is.Errors) > 0 {
		err = fmt.Errorf("%s of %s failed", noun(len(is.Errors), "rule", "rules"), from)
	}
	return err
}

// of sets what follows from the object alone.
func (is *interpretation) of(k kinds.Kind, obj map[string]any) {
	n, err := k.Replicas(obj)
	if is.note("replicas", err); err == nil {
		is.Replicas = &n
	}
	is.Health, err = k.Health(obj)
	is.note("health", err)
	is.Status, err = k.Report(obj)
	is.note("status", err)
	refers, err := k.References(obj)
	is.note("dependencies", err)
	for _, r := range refers {
		is.Dependencies = append(is.Dependencies, where(r))
	}
	for _, p := range k.MemberFields() {
		is.MemberFields = append(is.MemberFields, p.String())
	}
}

func (is *interpretation) note(ability string, err error) {
	if err != nil {
		is.Errors[ability] = err.Error()
	}
}

// sum computes the template's status, if the members' objects are given.
func (o *interpretOptions) sum(is *interpretation, k kinds.Kind, obj map[string]any) error {
	if len(o.members) == 0 {
		return nil
	}
	members := make([]kinds.Member, len(o.members))
	for i, path := range o.members {
		u, err := o.one(path)
		if err != nil {
			return err
		}
		name := filepath.Base(path)
		members[i] = kinds.Member{Cluster: strings.TrimSuffix(name, filepath.Ext(name)), Status: u.Object}
		if u.GetKind() != "" {
			status, err := k.Report(u.Object)
			is.note("status in "+members[i].Cluster, err)
			members[i].Status = status
		}
	}
	total, _, err := k.Total(obj, members)
	is.note("aggregatedStatus", err)
	is.AggregatedStatus = total
	return nil
}

// one returns the object of a file that contains exactly one.
func (o *interpretOptions) one(path string) (*unstructured.Unstructured, error) {
	objects, err := o.objectsIn(path)
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 {
		return nil, fmt.Errorf("%s holds %s: want one", path, noun(len(objects), "object", "objects"))
	}
	// Numbers have to be decoded as on the hub: whole numbers are integers.
	raw, err := json.Marshal(objects[0].Object)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(raw, &u.Object); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return u, nil
}

// known returns what is known of the object's kind, and where that comes from.
func (o *interpretOptions) known(ctx context.Context, u *unstructured.Unstructured) (kinds.Table, string, error) {
	var all []*rules.Interpreter
	if o.with != "" {
		i, err := o.interpreter()
		if err != nil {
			return kinds.Table{}, "", err
		}
		if gk := u.GroupVersionKind().GroupKind(); rules.KindOf(i.Target) != gk {
			return kinds.Table{}, "", fmt.Errorf("%s has rules for %s, and %s is a %s", o.with, rules.KindOf(i.Target), o.path, gk)
		}
		all = []*rules.Interpreter{i}
	} else {
		h, err := o.hub()
		if err != nil {
			return kinds.Table{}, "", err
		}
		if all, err = h.Interpreters(ctx); err != nil {
			return kinds.Table{}, "", fmt.Errorf("list the rules of kinds: %w", err)
		}
	}
	if i := rules.For(all, u.GroupVersionKind().GroupKind()); i != nil {
		if o.with != "" {
			return rules.Table(all), o.with, nil
		}
		return rules.Table(all), configv1alpha1.KindResourceInterpreter + " " + i.Name, nil
	}
	return kinds.Table{}, "none: what Sluice knows of the kind, or of all kinds", nil
}

// interpreter returns the one in the file of --with. A fault in its target is an error;
// a fault in a rule is an error of that ability.
func (o *interpretOptions) interpreter() (*rules.Interpreter, error) {
	u, err := o.one(o.with)
	if err != nil {
		return nil, err
	}
	if u.GroupVersionKind().GroupKind() != configv1alpha1.SchemeGroupVersion.WithKind(configv1alpha1.KindResourceInterpreter).GroupKind() {
		return nil, fmt.Errorf("%s holds a %s: --with takes a ResourceInterpreter of %s", o.with, described(u), configv1alpha1.SchemeGroupVersion)
	}
	var r configv1alpha1.ResourceInterpreter
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, &r, true); err != nil {
		return nil, fmt.Errorf("read %s: %w", o.with, err)
	}
	i := rules.Of(&r)
	for _, f := range i.Faults {
		if strings.HasPrefix(f.Field, "spec.target.") || strings.HasPrefix(f.Field, "spec.rules.memberFields") {
			return nil, fmt.Errorf("%s: %s", o.with, f)
		}
	}
	return i, nil
}

// show prints the interpretation for people.
func (o *interpretOptions) show(is interpretation) {
	line := func(ability, value string) { o.screen.Printf("%-18s%s\n", ability, value) }
	line("object", is.Object)
	line("rules", is.Rules)
	said := func(ability, value string) {
		if why := is.Errors[ability]; why != "" {
			value = "error: " + why
		}
		if value == "" {
			value = "-"
		}
		line(ability, value)
	}
	replicas := ""
	if is.Replicas != nil {
		replicas = fmt.Sprint(*is.Replicas)
	}
	said("replicas", replicas)
	said("health", string(is.Health))
	said("status", inJSON(is.Status))
	for _, path := range o.members {
		name := filepath.Base(path)
		if ability := "status in " + strings.TrimSuffix(name, filepath.Ext(name)); is.Errors[ability] != "" {
			said(ability, "")
		}
	}
	if len(o.members) > 0 {
		said("aggregatedStatus", inJSON(is.AggregatedStatus))
	}
	said("memberFields", strings.Join(is.MemberFields, ", "))
	said("dependencies", strings.Join(is.Dependencies, ", "))
}

func inJSON(v map[string]any) string {
	if v == nil {
		return ""
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
