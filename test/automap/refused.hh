// SPDX-License-Identifier: BSD-3-Clause
//
// What automap refuses of C++: the test looks for a line about each, by its number.
#pragma once
#include <memory>
#include <optional>
struct Base { int i; };
template <class T> struct Derived : Base { T j; };
template <class T> struct Virtual { virtual ~Virtual() = default; T i; };
class Secret { struct Inner { int a; }; public: Inner in; };
struct Reference { int& r; };
struct HasDerived { Derived<int> d; };
struct HasVirtual { Virtual<int> v; };
struct HasOptional { std::optional<int> o; int i; };
struct HasPointer { std::unique_ptr<int> p; };
struct Bits { bool a : 1; };
struct MemberPointer { int Base::*p; };
