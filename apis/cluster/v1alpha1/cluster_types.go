// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=clusters,scope=Cluster,categories={karmada-io,sluice}
// +kubebuilder:printcolumn:JSONPath=`.status.kubernetesVersion`,name="VERSION",type=string
// +kubebuilder:printcolumn:JSONPath=`.spec.syncMode`,name="MODE",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Ready")].status`,name="READY",type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="AGE",type=date
// +kubebuilder:printcolumn:JSONPath=`.spec.zones`,name="ZONES",type=string,priority=1
// +kubebuilder:printcolumn:JSONPath=`.spec.region`,name="REGION",type=string,priority=1
// +kubebuilder:printcolumn:JSONPath=`.spec.provider`,name="PROVIDER",type=string,priority=1
// +kubebuilder:printcolumn:JSONPath=`.spec.apiEndpoint`,name="API-ENDPOINT",type=string,priority=1
// +kubebuilder:printcolumn:JSONPath=`.spec.proxyURL`,name="PROXY-URL",type=string,priority=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 48 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be a DNS label of at most 48 characters"

// Cluster is a member cluster.
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is how the member is reached and what is to be known of it.
	// +required
	Spec ClusterSpec `json:"spec"`

	// Status is how the member is.
	// +optional
	Status ClusterStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ClusterList is a list of Cluster.
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the clusters, in no promised order.
	Items []Cluster `json:"items"`
}

// ClusterSpec is how a member is reached and what is to be known of it.
type ClusterSpec struct {
	// ID is the member's identity, by default the uid of its namespace
	// kube-system. It tells two names of one cluster. At most 128000
	// characters.
	// +optional
	// +kubebuilder:validation:MaxLength=128000
	ID string `json:"id,omitempty"`

	// SyncMode is Push (the hub writes to the member) or Pull (an agent in the
	// member fetches from the hub).
	// +required
	// +kubebuilder:validation:Enum=Push;Pull
	SyncMode ClusterSyncMode `json:"syncMode"`

	// APIEndpoint of the member's API server: a URL, a host or an address,
	// each with or without a port.
	// +optional
	APIEndpoint string `json:"apiEndpoint,omitempty"`

	// SecretRef names the Secret on the hub with the credentials for the
	// member: keys token and caBundle.
	// +optional
	SecretRef *LocalSecretReference `json:"secretRef,omitempty"`

	// ImpersonatorSecretRef names the Secret on the hub with the token that
	// people's requests are passed on with: key token.
	// +optional
	ImpersonatorSecretRef *LocalSecretReference `json:"impersonatorSecretRef,omitempty"`

	// InsecureSkipTLSVerification switches off the check of the member's
	// certificate. Default false.
	// +optional
	InsecureSkipTLSVerification bool `json:"insecureSkipTLSVerification,omitempty"`

	// ProxyURL is the proxy on the way to the member. Empty means none.
	// +optional
	ProxyURL string `json:"proxyURL,omitempty"`

	// ProxyHeader are headers for the proxy. Several values of one header are
	// separated by commas.
	// +optional
	ProxyHeader map[string]string `json:"proxyHeader,omitempty"`

	// Provider is who runs the member.
	// +optional
	Provider string `json:"provider,omitempty"`

	// Region where the member is.
	// +optional
	Region string `json:"region,omitempty"`

	// Zone where the member is.
	//
	// Deprecated: use Zones.
	// +optional
	Zone string `json:"zone,omitempty"`

	// Zones where the member is: several, if its nodes are in several.
	// +optional
	Zones []string `json:"zones,omitempty"`

	// Taints keep templates without a matching toleration away. At most 100.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:XValidation:rule="self.all(t, t.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])",message="effect must be NoSchedule, PreferNoSchedule or NoExecute"
	Taints []corev1.Taint `json:"taints,omitempty"`

	// ResourceModels are classes of nodes by size, for counting what fits into
	// the member. Empty means the default classes.
	// +optional
	ResourceModels []ResourceModel `json:"resourceModels,omitempty"`
}

// ClusterSyncMode is who carries objects to the member.
type ClusterSyncMode string

const (
	// Push: the hub writes to the member.
	Push ClusterSyncMode = "Push"
	// Pull: an agent in the member fetches from the hub.
	Pull ClusterSyncMode = "Pull"
)

// LocalSecretReference names a Secret on the hub.
type LocalSecretReference struct {
	// Namespace of the Secret.
	// +required
	Namespace string `json:"namespace"`

	// Name of the Secret.
	// +required
	Name string `json:"name"`
}

// ZoneNames are the zones where the member is, from Zones or else from Zone.
func (s *ClusterSpec) ZoneNames() []string {
	if len(s.Zones) > 0 {
		return s.Zones
	}
	if s.Zone != "" {
		return []string{s.Zone}
	}
	return nil
}
