// SPDX-License-Identifier: BSD-3-Clause
//
// The directive bytes and what a class has beside its members: the test looks for a line about each
// that is refused, by its number.
#pragma once
#include <memory>
#include <optional>
#include <utility>
#include <vector>
struct Number { int i; };
struct Pointer { int* p; /*~ AM ignore */ int i; };
struct Link { int* p; };
struct Virtual { virtual ~Virtual() = default; int i; };
template <class T> struct Derived : T { int j; };
template <class T> struct Headed : Number { T j; };
template <class T> struct Linked : Link { T j; };
template <class T> struct Outer { struct Inside : Outer { T j; }; int* p; };
struct Vector { std::vector<double> v; /*~ AM bytes */ };
struct Shared { std::shared_ptr<int> p; /*~ AM bytes */ };
struct Unique { std::unique_ptr<int> p; /*~ AM bytes */ };
struct HasVirtual { Virtual v; /*~ AM bytes */ };
struct HasNested { std::pair<int, Virtual> v; /*~ AM bytes */ };
struct HasDerived { Derived<Link> d; /*~ AM bytes */ };
struct HasDerivedVirtual { Derived<Virtual> d; /*~ AM bytes */ };
struct HasLinked { Linked<int> l; /*~ AM bytes */ };
struct HasInside { Outer<int>::Inside i; /*~ AM bytes */ };
struct MemberFunction { void (Number::*f)(); /*~ AM bytes */ };
/*~ AM bytes */
struct DerivedLink : Number, Link { int j; };
/*~ AM bytes */
struct DerivedVirtual : Virtual { int j; };
/*~ AM bytes */
struct DerivedTwice : DerivedLink { int k; };
/*~ AM bytes */
struct VirtualBase : virtual Number { int j; };
/*~ AM bytes */
struct Atomic { _Atomic(int*) p; };
class Secret {
  /*~ AM bytes */
  struct Inner { int i; };
};
struct HasPair { std::pair<int, double> p; /*~ AM bytes */ };
/*~ AM bytes */
struct DerivedNumber : Number { int j; };
/*~ AM bytes */
struct DerivedPointer : Pointer { int j; };
struct HasHeaded { Headed<double[2]> h; /*~ AM bytes */ };
struct Small { Derived<Number> d; /*~ AM bytes */ };
