// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"net/http"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// release is the version that the members say they are of.
const release = "v1.36.0"

// aggregated is what a client accepts that wants all of discovery in one answer.
const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// discover answers what is not about objects; false: the path is none of those.
func discover(w http.ResponseWriter, r *http.Request) bool {
	path := strings.TrimSuffix(r.URL.Path, "/")
	whole := strings.Contains(r.Header.Get("Accept"), "as=APIGroupDiscoveryList") && strings.Contains(r.Header.Get("Accept"), "v=v2;")
	switch path {
	case "/readyz", "/livez", "/healthz":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok"))
	case "/version":
		reply(w, http.StatusOK, map[string]string{"major": "1", "minor": "36", "gitVersion": release, "platform": "linux/amd64"})
	case "/api", "/apis":
		switch {
		case whole:
			w.Header().Set("Content-Type", aggregated)
			reply(w, http.StatusOK, everything(path == "/api"))
		case path == "/api":
			reply(w, http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
		default:
			reply(w, http.StatusOK, groups())
		}
	default:
		gv, err := schema.ParseGroupVersion(strings.TrimPrefix(strings.TrimPrefix(path, "/apis/"), "/api/"))
		list := resources(gv)
		if err != nil || list == nil || (gv.Group == "") != strings.HasPrefix(path, "/api/") {
			return false
		}
		reply(w, http.StatusOK, list)
	}
	return true
}

// versions are those that are served, in the order of the kinds.
func versions() []schema.GroupVersion {
	var all []schema.GroupVersion
	for _, k := range kinds {
		if gv := k.GroupVersion(); len(all) == 0 || all[len(all)-1] != gv {
			all = append(all, gv)
		}
	}
	return all
}

func groups() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroupList"}}
	for _, gv := range versions() {
		if gv.Group != "" {
			v := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
			list.Groups = append(list.Groups, metav1.APIGroup{Name: gv.Group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v})
		}
	}
	return list
}

// resources is what is served of a version; nil: nothing.
func resources(gv schema.GroupVersion) *metav1.APIResourceList {
	list := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: gv.String()}
	for _, k := range kinds {
		if k.GroupVersion() != gv {
			continue
		}
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: k.resource, SingularName: strings.ToLower(k.Kind), Kind: k.Kind, Namespaced: k.namespaced, Verbs: verbs,
		})
		if k.status {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: k.resource + "/status", Kind: k.Kind, Namespaced: k.namespaced, Verbs: metav1.Verbs{"get", "patch", "update"},
			})
		}
	}
	if len(list.APIResources) == 0 {
		return nil
	}
	return list
}

// everything is all that is served, of the group without a name or of the others.
func everything(legacy bool) apidiscoveryv2.APIGroupDiscoveryList {
	list := apidiscoveryv2.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{APIVersion: "apidiscovery.k8s.io/v2", Kind: "APIGroupDiscoveryList"}}
	for _, gv := range versions() {
		if (gv.Group == "") != legacy {
			continue
		}
		v := apidiscoveryv2.APIVersionDiscovery{Version: gv.Version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}
		for _, k := range kinds {
			if k.GroupVersion() == gv {
				v.Resources = append(v.Resources, discovered(k))
			}
		}
		list.Items = append(list.Items, apidiscoveryv2.APIGroupDiscovery{
			ObjectMeta: metav1.ObjectMeta{Name: gv.Group}, Versions: []apidiscoveryv2.APIVersionDiscovery{v},
		})
	}
	return list
}

func discovered(k *kind) apidiscoveryv2.APIResourceDiscovery {
	scope := apidiscoveryv2.ScopeCluster
	if k.namespaced {
		scope = apidiscoveryv2.ScopeNamespace
	}
	like := &metav1.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
	d := apidiscoveryv2.APIResourceDiscovery{Resource: k.resource, ResponseKind: like, Scope: scope, SingularResource: strings.ToLower(k.Kind), Verbs: verbs}
	if k.status {
		d.Subresources = []apidiscoveryv2.APISubresourceDiscovery{{Subresource: "status", ResponseKind: like, Verbs: metav1.Verbs{"get", "patch", "update"}}}
	}
	return d
}
