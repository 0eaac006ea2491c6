// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"sluice.dev/pkg/core/propagation"
)

// api is an API server as far as the commands need one.
type api struct {
	t   *testing.T
	url string

	mu      sync.Mutex
	objects map[string]map[string]any // by path
	version int
	// refuse says what a request is refused with; nil: it is not.
	refuse func(r *http.Request) *apierrors.StatusError
	// after is called, unlocked, when a request has been answered.
	after func(r *http.Request)
	// granted are the resources that the user may use; nil: all.
	granted []string
	// denied are verbs that the user may not use.
	denied []string
	// undefined is a definition that is gone.
	undefined string
	// log is what watches tell.
	log watchLog
}

type servedKind struct {
	group, version, plural, kind, short string
	namespaced                          bool
}

// served is what the API serves.
var served = []servedKind{
	{"", "v1", "namespaces", "Namespace", "ns", false},
	{"", "v1", "configmaps", "ConfigMap", "cm", true},
	{"", "v1", "secrets", "Secret", "", true},
	{"", "v1", "serviceaccounts", "ServiceAccount", "sa", true},
	{"", "v1", "events", "Event", "", true},
	{"apps", "v1", "deployments", "Deployment", "deploy", true},
	{"apps", "v1", "controllerrevisions", "ControllerRevision", "", true},
	{"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", "crd", false},
	{"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", "", false},
	{"rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", "", false},
	{"rbac.authorization.k8s.io", "v1", "roles", "Role", "", true},
	{"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", "", true},
	{"eventing.knative.dev", "v1", "brokers", "Broker", "", true},
	{"eventing.knative.dev", "v1", "triggers", "Trigger", "", true},
	{"sources.knative.dev", "v1", "apiserversources", "ApiServerSource", "", true},
	{"sources.knative.dev", "v1", "containersources", "ContainerSource", "", true},
	{"policy.karmada.io", "v1alpha1", "propagationpolicies", "PropagationPolicy", "pp", true},
	{"policy.karmada.io", "v1alpha1", "clusterpropagationpolicies", "ClusterPropagationPolicy", "cpp", false},
	{"policy.karmada.io", "v1alpha1", "overridepolicies", "OverridePolicy", "op", true},
	{"policy.karmada.io", "v1alpha1", "clusteroverridepolicies", "ClusterOverridePolicy", "cop", false},
	{"work.karmada.io", "v1alpha2", "resourcebindings", "ResourceBinding", "rb", true},
	{"work.karmada.io", "v1alpha2", "clusterresourcebindings", "ClusterResourceBinding", "crb", false},
	{"work.karmada.io", "v1alpha1", "works", "Work", "", true},
	{"cluster.karmada.io", "v1alpha1", "clusters", "Cluster", "", false},
	{"config.sluice.dev", "v1alpha1", "resourceinterpreters", "ResourceInterpreter", "ri", false},
	{"placement.kubernetes-fleet.io", "v1", "clusterresourceplacements", "ClusterResourcePlacement", "crp", false},
	{"placement.kubernetes-fleet.io", "v1", "clusterresourcesnapshots", "ClusterResourceSnapshot", "crs", false},
	{"placement.kubernetes-fleet.io", "v1", "clusterschedulingpolicysnapshots", "ClusterSchedulingPolicySnapshot", "csps", false},
	{"placement.kubernetes-fleet.io", "v1", "clusterresourcebindings", "ClusterResourceBinding", "", false},
	{"placement.kubernetes-fleet.io", "v1", "works", "Work", "", true},
	{"placement.kubernetes-fleet.io", "v1", "clusterresourceoverrides", "ClusterResourceOverride", "", false},
	{"placement.kubernetes-fleet.io", "v1", "clusterresourceoverridesnapshots", "ClusterResourceOverrideSnapshot", "", false},
	{"placement.kubernetes-fleet.io", "v1", "resourceoverrides", "ResourceOverride", "", true},
	{"placement.kubernetes-fleet.io", "v1", "resourceoverridesnapshots", "ResourceOverrideSnapshot", "", true},
	{"placement.kubernetes-fleet.io", "v1", "clusterresourceplacementevictions", "ClusterResourcePlacementEviction", "crpe", false},
	{"placement.kubernetes-fleet.io", "v1", "clusterstagedupdateruns", "ClusterStagedUpdateRun", "csur", false},
	{"placement.kubernetes-fleet.io", "v1", "clusterapprovalrequests", "ClusterApprovalRequest", "careq", false},
	{"cluster.kubernetes-fleet.io", "v1", "memberclusters", "MemberCluster", "", false},
}

// serve starts an API server with the namespace kube-system of that uid.
func serve(t *testing.T, id string) *api {
	t.Helper()
	a := &api{t: t, objects: map[string]map[string]any{}}
	server := httptest.NewServer(http.HandlerFunc(a.handle))
	t.Cleanup(server.Close)
	a.url = server.URL
	a.put("v1/Namespace/kube-system", map[string]any{"metadata": map[string]any{"uid": id}})
	return a
}

// kubeconfig writes a file that leads to the API.
func (a *api) kubeconfig() string {
	kc := clientcmdapi.NewConfig()
	kc.Clusters["c"] = &clientcmdapi.Cluster{Server: a.url}
	kc.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: "secret"}
	kc.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u", Namespace: "shop"}
	kc.CurrentContext = "x"
	file := filepath.Join(a.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*kc, file); err != nil {
		a.t.Fatal(err)
	}
	return file
}

// put stores an object under a name like apps/v1/Deployment/shop/nginx.
func (a *api) put(ref string, object any) {
	a.t.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		a.t.Fatal(err)
	}
	var o map[string]any
	if err := utiljson.Unmarshal(raw, &o); err != nil {
		a.t.Fatal(err)
	}
	path, u := a.locate(ref)
	if o["metadata"] == nil {
		o["metadata"] = map[string]any{}
	}
	live := unstructured.Unstructured{Object: o}
	live.SetAPIVersion(u.GetAPIVersion())
	live.SetKind(u.GetKind())
	live.SetNamespace(u.GetNamespace())
	live.SetName(u.GetName())
	a.mu.Lock()
	defer a.mu.Unlock()
	a.store(path, &live)
}

// remove deletes an object, whatever its finalizers say.
func (a *api) remove(ref string) {
	path, _ := a.locate(ref)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget(path)
}

// get is an object; nil: there is none.
func (a *api) get(ref string) *unstructured.Unstructured {
	path, _ := a.locate(ref)
	a.mu.Lock()
	defer a.mu.Unlock()
	if o, ok := a.objects[path]; ok {
		return (&unstructured.Unstructured{Object: o}).DeepCopy()
	}
	return nil
}

// refs are the names of all objects but kube-system's.
func (a *api) refs() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []string
	for _, o := range a.objects {
		u := unstructured.Unstructured{Object: o}
		ref := u.GetAPIVersion() + "/" + u.GetKind() + "/" + u.GetNamespace() + "/" + u.GetName()
		if ref = strings.ReplaceAll(ref, "//", "/"); u.GetName() != "kube-system" {
			out = append(out, ref)
		}
	}
	slices.Sort(out)
	return out
}

func (a *api) locate(ref string) (path string, u unstructured.Unstructured) {
	a.t.Helper()
	for _, s := range served {
		gvk := schema.GroupVersionKind{Group: s.group, Version: s.version, Kind: s.kind}
		rest, ok := strings.CutPrefix(ref, gvk.GroupVersion().String()+"/"+s.kind+"/")
		if !ok {
			continue
		}
		u.Object = map[string]any{}
		u.SetGroupVersionKind(gvk)
		namespace, name, _ := strings.Cut(rest, "/")
		if !s.namespaced {
			u.SetName(rest)
			return root(gvk.GroupVersion()) + s.plural + "/" + rest, u
		}
		u.SetNamespace(namespace)
		u.SetName(name)
		return root(gvk.GroupVersion()) + "namespaces/" + namespace + "/" + s.plural + "/" + name, u
	}
	a.t.Fatalf("%s is not served", ref)
	return "", u
}

func root(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/v1/"
	}
	return "/apis/" + gv.String() + "/"
}

// store gives the object what an API server gives it.
func (a *api) store(path string, u *unstructured.Unstructured) {
	a.version++
	u.SetResourceVersion(strconv.Itoa(a.version))
	if u.GetUID() == "" {
		u.SetUID(types.UID("uid-" + u.GetName() + "-" + strconv.Itoa(a.version)))
	}
	if u.GetGeneration() == 0 {
		u.SetGeneration(1)
	}
	_, was := a.objects[path]
	a.objects[path] = u.Object
	a.tell(was, path, u.Object)
}

// then has f called from now on, though earlier requests may still be under way.
func (a *api) then(f func(*http.Request)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.after = f
}

func (a *api) handle(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") == "true" {
		a.watch(w, r)
		return
	}
	a.mu.Lock()
	status, answer := a.answer(r)
	raw, err := json.Marshal(answer)
	after := a.after
	a.mu.Unlock()
	if err != nil {
		a.t.Error(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(raw)
	if after != nil {
		after(r)
	}
}

func (a *api) answer(r *http.Request) (int, any) {
	if a.refuse != nil {
		if err := a.refuse(r); err != nil {
			return refused(err)
		}
	}
	switch {
	case r.URL.Path == "/readyz":
		return http.StatusOK, "ok"
	case r.URL.Path == "/version":
		return http.StatusOK, map[string]string{"gitVersion": "v1.99.0", "major": "1", "minor": "99"}
	case strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
		var review authorizationv1.SelfSubjectAccessReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			return refused(apierrors.NewBadRequest(err.Error()))
		}
		asked := review.Spec.ResourceAttributes
		review.Status.Allowed = !slices.Contains(a.denied, asked.Verb) && (a.granted == nil || slices.Contains(a.granted, asked.Resource))
		review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SelfSubjectAccessReview"
		return http.StatusCreated, review
	}
	if as := r.Header.Get("Accept"); strings.HasSuffix(as, "as=APIGroupDiscoveryList") { // and nothing else will do
		return http.StatusOK, aggregated(r.URL.Path)
	}
	if found, ok := discovery(r.URL.Path); ok {
		return http.StatusOK, found
	}
	if found, ok := a.defined(r); ok {
		return http.StatusOK, found
	}
	return a.resource(r)
}

// aggregated is all that is served in namespaces, in one answer.
func aggregated(path string) any {
	items := []any{}
	for _, s := range served {
		if s.namespaced && (s.group == "") == (path == "/api") {
			r := map[string]any{
				"resource": s.plural, "scope": "Namespaced", "verbs": []string{"get", "list", "watch"},
				"responseKind": map[string]any{"group": s.group, "version": s.version, "kind": s.kind},
			}
			items = append(items, map[string]any{"metadata": map[string]any{"name": s.group}, "versions": []any{map[string]any{"version": s.version, "resources": []any{r}}}})
		}
	}
	return map[string]any{"apiVersion": "apidiscovery.k8s.io/v2", "kind": "APIGroupDiscoveryList", "items": items}
}

func discovery(path string) (any, bool) {
	groups := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroupList"}}
	lists := map[string]*metav1.APIResourceList{}
	for _, s := range served {
		gv := schema.GroupVersion{Group: s.group, Version: s.version}
		key := strings.TrimSuffix(root(gv), "/")
		if lists[key] == nil {
			lists[key] = &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: gv.String()}
			if version := (metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: s.version}); s.group != "" {
				groups.Groups = append(groups.Groups, metav1.APIGroup{Name: s.group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version})
			}
		}
		r := metav1.APIResource{Name: s.plural, Kind: s.kind, Namespaced: s.namespaced, SingularName: strings.ToLower(s.kind), Verbs: []string{"get", "list"}}
		if s.short != "" {
			r.ShortNames = []string{s.short}
		}
		lists[key].APIResources = append(lists[key].APIResources, r)
	}
	switch path {
	case "/api":
		return metav1.APIVersions{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIVersions"}, Versions: []string{"v1"}}, true
	case "/apis":
		return groups, true
	}
	for _, g := range groups.Groups {
		if path == "/apis/"+g.Name {
			return g, true
		}
	}
	list, ok := lists[path]
	return list, ok
}

// resource answers about objects.
func (a *api) resource(r *http.Request) (int, any) {
	body, _ := io.ReadAll(r.Body)
	path := strings.TrimSuffix(r.URL.Path, "/status")
	parts := strings.Split(path, "/")
	missing := apierrors.NewNotFound(schema.GroupResource{Resource: parts[len(parts)-2]}, parts[len(parts)-1])
	live, found := a.objects[path]
	if r.URL.Query().Get("fieldManager") == propagation.FieldManager {
		a.t.Errorf("%s %s is written as by Sluice itself, and no stage would be told", r.Method, path)
	}
	switch {
	case r.Method == http.MethodPost:
		return a.create(r, path, body)
	case r.Method == http.MethodGet && collection(parts):
		return a.list(r, path)
	case !found && r.Method == http.MethodPatch && r.Header.Get("Content-Type") == string(types.ApplyYAMLPatchType):
		return a.create(r, path[:strings.LastIndexByte(path, '/')], body)
	case !found:
		return refused(missing)
	case r.Method == http.MethodGet:
		return http.StatusOK, partial(r, live)
	case r.Method == http.MethodDelete:
		return a.delete(path, live, body)
	case r.Method == http.MethodPatch:
		var patch map[string]any
		if err := json.Unmarshal(body, &patch); err != nil {
			return refused(apierrors.NewBadRequest(err.Error()))
		}
		body, _ = json.Marshal(merged(live, patch))
	}
	return a.update(r, path, live, body)
}

// collection tells whether a path names a kind and no object of it.
func collection(parts []string) bool {
	return slices.ContainsFunc(served, func(s servedKind) bool { return s.plural == parts[len(parts)-1] })
}

func (a *api) create(r *http.Request, path string, body []byte) (int, any) {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(body); err != nil {
		return refused(apierrors.NewBadRequest(err.Error()))
	}
	if parts := strings.Split(path, "/"); len(parts) > 3 && parts[len(parts)-3] == "namespaces" {
		u.SetNamespace(parts[len(parts)-2])
	}
	a.complete(u)
	full := path + "/" + u.GetName()
	if _, exists := a.objects[full]; exists {
		return refused(apierrors.NewAlreadyExists(schema.GroupResource{Resource: u.GetKind()}, u.GetName()))
	}
	if r.URL.Query().Get("dryRun") != "" {
		u.SetUID("planned")
		u.SetGeneration(1)
		return http.StatusCreated, u.Object
	}
	a.store(full, u)
	return http.StatusCreated, u.Object
}

func (a *api) update(r *http.Request, path string, live map[string]any, body []byte) (int, any) {
	old, u := unstructured.Unstructured{Object: live}, &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(body); err != nil {
		return refused(apierrors.NewBadRequest(err.Error()))
	}
	if v := u.GetResourceVersion(); v != "" && v != old.GetResourceVersion() {
		return refused(apierrors.NewConflict(schema.GroupResource{Resource: u.GetKind()}, u.GetName(), fmt.Errorf("it is %s", old.GetResourceVersion())))
	}
	u.SetUID(old.GetUID())
	u.SetGeneration(old.GetGeneration() + 1)
	if r.URL.Query().Get("dryRun") == "" {
		a.store(path, u)
	}
	return http.StatusOK, u.Object
}

func (a *api) delete(path string, live map[string]any, body []byte) (int, any) {
	u := &unstructured.Unstructured{Object: live}
	var opts metav1.DeleteOptions
	if len(body) > 0 {
		if err := json.Unmarshal(body, &opts); err != nil {
			return refused(apierrors.NewBadRequest(err.Error()))
		}
	}
	if p := opts.Preconditions; p != nil && p.UID != nil && *p.UID != u.GetUID() {
		return refused(apierrors.NewConflict(schema.GroupResource{Resource: u.GetKind()}, u.GetName(), fmt.Errorf("another uid")))
	}
	a.forget(path)
	if name, ok := strings.CutPrefix(path, "/api/v1/namespaces/"); ok && !strings.Contains(name, "/") {
		maps.DeleteFunc(a.objects, func(in string, o map[string]any) bool {
			return o["kind"] == "RoleBinding" && strings.Contains(in, "/namespaces/"+name+"/") // which nothing holds
		})
	}
	return http.StatusOK, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess}
}

func (a *api) list(r *http.Request, path string) (int, any) {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return refused(apierrors.NewBadRequest(err.Error()))
	}
	field, name, _ := strings.Cut(r.URL.Query().Get("fieldSelector"), "=")
	plural := path[strings.LastIndexByte(path, '/')+1:]
	prefix := strings.TrimSuffix(path, plural)
	items := []any{}
	for _, p := range slices.Sorted(maps.Keys(a.objects)) {
		u := unstructured.Unstructured{Object: a.objects[p]}
		rest, ok := strings.CutPrefix(p, prefix)
		here := rest == plural+"/"+u.GetName() || strings.HasPrefix(rest, "namespaces/") && strings.HasSuffix(rest, "/"+plural+"/"+u.GetName())
		if ok && here && selector.Matches(labels.Set(u.GetLabels())) && (name == "" || name == fieldOf(u, field)) {
			items = append(items, partial(r, u.Object))
		}
	}
	list := map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": strconv.Itoa(a.version)}, "items": items}
	for _, s := range served {
		if gv := (schema.GroupVersion{Group: s.group, Version: s.version}); s.plural == plural && strings.HasPrefix(path, root(gv)) {
			list["apiVersion"], list["kind"] = gv.String(), s.kind+"List"
		}
	}
	if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList") {
		list["apiVersion"], list["kind"] = "meta.k8s.io/v1", "PartialObjectMetadataList"
	}
	return http.StatusOK, list
}

func fieldOf(u unstructured.Unstructured, field string) string {
	s, _, _ := unstructured.NestedString(u.Object, strings.Split(field, ".")...)
	return s
}

// partial is the object, or its metadata if no more is asked for.
func partial(r *http.Request, o map[string]any) map[string]any {
	if !strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
		return o
	}
	return map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": o["metadata"]}
}

// merged is a JSON merge patch applied.
func merged(m, patch map[string]any) map[string]any {
	out := maps.Clone(m)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range patch {
		if inner, ok := v.(map[string]any); ok {
			old, _ := out[k].(map[string]any)
			out[k] = merged(old, inner)
		} else if v == nil {
			delete(out, k)
		} else {
			out[k] = v
		}
	}
	return out
}
