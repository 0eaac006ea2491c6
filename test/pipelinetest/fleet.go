// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
)

var cutPrefix = strings.CutPrefix

// Policy is the policy of that key.
func (h *Hub) Policy(ctx context.Context, key propagation.PolicyKey) (*propagation.Policy, error) {
	if err := h.ask(ctx, "get", key.String()); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	p, err := h.policies.get(key.ID(), key.String())
	if err != nil {
		return nil, err
	}
	return h.resolved(p), nil
}

// Policies are all policies of both scopes.
func (h *Hub) Policies(ctx context.Context) ([]*propagation.Policy, error) {
	if err := h.ask(ctx, "list", "policies"); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.policies.list()
	for i, p := range all {
		all[i] = h.resolved(p)
	}
	return all, nil
}

// PutPolicy lets somebody make a policy, or change its spec. It tells whether
// anything changed.
func (h *Hub) PutPolicy(key propagation.PolicyKey, spec policyv1alpha1.PropagationSpec) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.second()
	p := &propagation.Policy{Key: key, Generation: 1, Created: now, LastUserWrite: now, Spec: copyOf(spec)}
	if old := h.LivePolicy(key); old != nil {
		if same(old.Spec, spec) {
			return false
		}
		p.UID, p.Created, p.Generation, p.Status = old.UID, old.Created, old.Generation+1, old.Status
		if !takes(object(old.Spec), object(spec)) {
			p.LastUserWrite = old.LastUserWrite
		}
	} else {
		p.UID = h.newUID()
	}
	p.ID = "id-of-" + string(p.UID)
	h.storePolicy(p, false)
	return true
}

func (h *Hub) storePolicy(p *propagation.Policy, own bool) {
	version := h.next()
	p.ResourceVersion = strconv.FormatUint(version, 10)
	h.policies.store(p.Key.ID(), &row[*propagation.Policy]{key: policyObject(p), uid: p.UID, version: version, value: p}, own)
}

// CommitPolicyStatus writes the status of a policy.
func (h *Hub) CommitPolicyStatus(ctx context.Context, p *propagation.Policy, status policyv1alpha1.PropagationStatus) error {
	if same(p.Status, status) {
		return nil
	}
	about := "status of " + p.Key.String()
	if err := h.ask(ctx, "update", about); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r, err := h.policies.current(p.Key.ID(), p.UID, p.ResourceVersion)
	if err != nil {
		return err
	}
	next := *r.value
	next.Status = copyOf(status)
	h.storePolicy(&next, true)
	return h.wrote(ctx, "update", about, r.value, &next)
}

func policyObject(p *propagation.Policy) propagation.TemplateKey {
	about := hub.AboutPolicy(p)
	return propagation.TemplateKey{APIVersion: about.APIVersion, Kind: about.Kind, Namespace: p.Key.Namespace, Name: p.Key.Name}
}

// DropPolicy lets somebody delete a policy.
func (h *Hub) DropPolicy(key propagation.PolicyKey) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.LivePolicy(key) == nil {
		return false
	}
	h.policies.remove(key.ID(), false)
	return true
}

// LivePolicy is the policy as it is; nil: there is none. For tests.
func (h *Hub) LivePolicy(key propagation.PolicyKey) *propagation.Policy {
	if r := h.policies.live[key.ID()]; r != nil {
		return r.value
	}
	return nil
}

// LivePolicies are all policies as they are, sorted. For tests.
func (h *Hub) LivePolicies() []*propagation.Policy {
	var all []*propagation.Policy
	for _, id := range slices.Sorted(maps.Keys(h.policies.live)) {
		all = append(all, h.policies.live[id].value)
	}
	return all
}

// Overrides are those that may concern what lives in the namespace.
func (h *Hub) Overrides(ctx context.Context, namespace string) ([]propagation.Override, error) {
	if err := h.ask(ctx, "list", "overrides"); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(h.overrides.list(), func(o propagation.Override) bool {
		return o.Key.Namespace != "" && o.Key.Namespace != namespace
	}), nil
}

// Features are the gates.
func (h *Hub) Features(ctx context.Context) (propagation.Features, error) {
	if err := h.ask(ctx, "get", "gates"); err != nil {
		return propagation.Features{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.features, nil
}

// SetFeatures lets somebody switch gates.
func (h *Hub) SetFeatures(f propagation.Features) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.features = f
	key := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: propagation.SystemNamespace, Name: propagation.FeaturesName}
	change := hub.Change{Type: hub.Updated, Key: key, Version: strconv.FormatUint(h.next(), 10)}
	h.news = append(h.news, &news{News{Change: change}, func() {}, h.reads})
}

// LiveFeatures are the gates as they are. For tests.
func (h *Hub) LiveFeatures() propagation.Features { return h.features }

// Namespace is the labels of a namespace.
func (h *Hub) Namespace(ctx context.Context, name string) (map[string]string, error) {
	return nil, h.ask(ctx, "get", "namespace "+name)
}

// Namespaces are the names of those with these labels: nobody labels any.
func (h *Hub) Namespaces(ctx context.Context, selector string) ([]string, error) {
	return nil, h.ask(ctx, "list", "namespaces with "+selector)
}

// NamespaceLeaves tells whether a namespace is being deleted: none of templates is.
func (h *Hub) NamespaceLeaves(ctx context.Context, name string) (bool, error) {
	return false, h.ask(ctx, "get", "namespace "+name)
}

// WorksLeave tells whether the namespace that the Work is in, or its kind, is being
// deleted.
func (h *Hub) WorksLeave(ctx context.Context, key propagation.WorkKey) (bool, error) {
	h.mu.Lock()
	_, leaves := h.hasNamespace(key.Namespace())
	leaves = leaves || h.dropped[KindWorks]
	h.mu.Unlock()
	return leaves, h.ask(ctx, "get", "namespace "+key.Namespace())
}

// EnsureNamespace makes a namespace where there is none.
func (h *Hub) EnsureNamespace(ctx context.Context, name string) error {
	h.mu.Lock()
	is, leaving := h.hasNamespace(name)
	h.mu.Unlock()
	switch {
	case is:
		return nil
	case leaving:
		return errLeaving(name)
	}
	if err := h.ask(ctx, "create", "namespace "+name); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.namespaces[name] = true
	return h.wrote(ctx, "create", "namespace "+name, nil, name)
}

// Cluster is the member of that name.
func (h *Hub) Cluster(ctx context.Context, name string) (*clusterv1alpha1.Cluster, error) {
	if err := h.ask(ctx, "get", "cluster "+name); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.clusters.get(name, "cluster "+name)
}

// Clusters are all members, sorted by name.
func (h *Hub) Clusters(ctx context.Context) ([]*clusterv1alpha1.Cluster, error) {
	if err := h.ask(ctx, "list", "clusters"); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.clusters.list(), nil
}

// CommitClusterStatus writes the status of a member.
func (h *Hub) CommitClusterStatus(ctx context.Context, c *clusterv1alpha1.Cluster, status clusterv1alpha1.ClusterStatus) error {
	if same(c.Status, status) {
		return nil
	}
	about := "status of cluster " + c.Name
	if err := h.ask(ctx, "update", about); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r, err := h.clusters.current(c.Name, c.UID, c.ResourceVersion)
	if err != nil {
		return err
	}
	next := r.value.DeepCopy()
	next.Status = copyOf(status)
	h.storeCluster(next, true)
	return h.wrote(ctx, "update", about, r.value, next)
}

func (h *Hub) storeCluster(c *clusterv1alpha1.Cluster, own bool) {
	version := h.next()
	c.ResourceVersion = strconv.FormatUint(version, 10)
	apiVersion, kind := hub.ClusterKind().ToAPIVersionAndKind()
	key := propagation.TemplateKey{APIVersion: apiVersion, Kind: kind, Name: c.Name}
	h.clusters.store(c.Name, &row[*clusterv1alpha1.Cluster]{key: key, uid: c.UID, version: version, value: c}, own)
}

// Join lets somebody join a member.
func (h *Hub) Join(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.clusters.live[name] != nil {
		return false
	}
	c := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name, UID: h.newUID(), Generation: 1}}
	if h.options.Now != nil {
		c.CreationTimestamp = metav1.NewTime(h.second())
	}
	h.storeCluster(c, false)
	return true
}

// LabelCluster lets somebody set a label of a member; an empty value takes it off.
func (h *Hub) LabelCluster(name, key, value string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.clusters.live[name].value.DeepCopy()
	if c.Labels == nil {
		c.Labels = map[string]string{}
	}
	c.Labels[key] = value
	if value == "" {
		delete(c.Labels, key)
	}
	h.storeCluster(c, false)
}

// AnnotateCluster lets somebody set an annotation of a member; an empty value takes it
// off.
func (h *Hub) AnnotateCluster(name, key, value string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.clusters.live[name].value.DeepCopy()
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[key] = value
	if value == "" {
		delete(c.Annotations, key)
	}
	h.storeCluster(c, false)
}

// Unjoin lets somebody unjoin a member; false: there is none.
func (h *Hub) Unjoin(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.clusters.live[name] == nil {
		return false
	}
	h.clusters.remove(name, false)
	return true
}

// TaintCluster lets somebody set the taints of a member. It tells whether that changed
// anything.
func (h *Hub) TaintCluster(name string, taints ...corev1.Taint) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.clusters.live[name]
	if r == nil || same(r.value.Spec.Taints, taints) {
		return false
	}
	c := r.value.DeepCopy()
	c.Spec.Taints = taints
	c.Generation++
	h.storeCluster(c, false)
	return true
}

// LiveTaints are the taints of a member as they are. For tests.
func (h *Hub) LiveTaints(name string) []corev1.Taint {
	if r := h.clusters.live[name]; r != nil {
		return r.value.Spec.Taints
	}
	return nil
}

// LiveLabels are the labels of a member as they are. For tests.
func (h *Hub) LiveLabels(name string) map[string]string {
	if r := h.clusters.live[name]; r != nil {
		return r.value.Labels
	}
	return nil
}

// Joined tells whether there is a member of that name. For tests.
func (h *Hub) Joined(name string) bool { return h.clusters.live[name] != nil }
