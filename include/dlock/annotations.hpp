// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Annotations above methods and functions, which the program dlock-gen reads; docs/annotations.md explains them.
///
///   class DLOCK_DEFAULTS(.ttl = 30s) order_service {
///    public:
///     virtual ~order_service() = default;
///     DLOCK_LOCKED("order:{o.id}:{buyer.name}", .wait = 2s)
///     virtual receipt place(const order& o, const user& buyer);
///   };
///
/// For a compiler they are nothing: a header with annotations compiles as it does without them, and needs no library.
/// dlock-gen writes order_service.locked.hpp with a class order_service_locked, whose place() runs under the lock.
///
/// An annotation stands before all other words of the declaration, several of them in any order. Where `virtual` or
/// `template` stands before it, dlock-gen refuses it. What is wrong in its parentheses only dlock-gen says, with file,
/// line and column.

#ifdef DLOCK_GENERATING  // by dlock-gen alone: its compiler keeps what stands in the parentheses
#define DLOCK_DETAIL_ANNOTATION(text) [[clang::annotate(text)]]
#else
#define DLOCK_DETAIL_ANNOTATION(text)
#endif

/// DLOCK_LOCKED("template", .option = value, ...)
///
/// Runs the function under a key. A part in braces begins with the name of a parameter, or `this` for the object, and
/// goes on with fields and getters: {o.id}, {o.id()}, {o->buyer.name}, {this->number()}. Text outside of the braces is
/// taken as it is, values are escaped, and two parts have a ':' between them: the key is the one that dlock::key<"...">
/// composes. Options: the fields of dlock::lock_options, with its meanings and defaults, as plain C++ on the
/// parameters' names;
///   .prefix = "text"           the key begins with that text and a ':'
///   .prefix = qualified_name   the same with namespaces, class and function: shop.order_service.place:42
/// Several of them above one function: all keys or none, as lock_service::acquire_all().
#define DLOCK_LOCKED(...) DLOCK_DETAIL_ANNOTATION("DLOCK_LOCKED(" #__VA_ARGS__ ")")

/// DLOCK_LOCKED_ROW(id, .option = value, ...)
///
/// Runs the function under the lock of a row, in the row itself (dlock/odb/row.hpp). `id`: a parameter, its fields or
/// getters, without braces. Options: as above without .prefix, and
///   .row = order   the mapped class; default: the only one with a member dlock::lock_columns that the header sees
///   .db = name     its database, as in DLOCK_VERIFIED; default: db
#define DLOCK_LOCKED_ROW(...) DLOCK_DETAIL_ANNOTATION("DLOCK_LOCKED_ROW(" #__VA_ARGS__ ")")

/// DLOCK_ON_BUSY(throw), DLOCK_ON_BUSY(skip) or DLOCK_ON_BUSY(call, function)
///
/// What the generated code does when a key is still busy after .wait. `throw`: it throws lock_timeout, as without the
/// annotation. `skip`: it does not run the function, and returns an empty result. `call`: it calls the other function
/// with the arguments; that has the same parameters and the same result. `skip` and `call` make one attempt unless
/// .wait is set. An error of the store is an exception in every case, never "busy".
#define DLOCK_ON_BUSY(...) DLOCK_DETAIL_ANNOTATION("DLOCK_ON_BUSY(" #__VA_ARGS__ ")")

/// DLOCK_VERIFIED(db)
///
/// Runs the function inside a transaction of ODB that verifies the lease (dlock/odb/verify.hpp) and commits when the
/// function returns, so a holder that has lost the lease can't commit. `db` names an odb::database: a parameter with
/// its fields or getters, or a member of the object, beginning with `this->`. Any other name becomes a parameter of the
/// generated class's constructor. If a transaction of that database is the current one, the function runs in it, and
/// the owner of that transaction commits. One that has read before the lock was taken may not see what the holders
/// before have written: the call throws std::logic_error, unless it sees the grant.
#define DLOCK_VERIFIED(...) DLOCK_DETAIL_ANNOTATION("DLOCK_VERIFIED(" #__VA_ARGS__ ")")

/// class DLOCK_DEFAULTS(.option = value, ...) order_service { ... };
///
/// Options of all annotations in the class, which each of them may set otherwise; DLOCK_ON_BUSY and DLOCK_VERIFIED may
/// stand beside it with the same meaning. Options: all of the above, and
///   .name = other_name   the name of the generated class; default: order_service_locked
///   .form = proxy        the generated class is no order_service: it has one, and passes calls on to it
///
/// Without .form, an abstract class gets a wrapper, which implements it and has an object that it passes calls on to; a
/// class with virtual methods a subclass, which is the object; any other class a proxy. In the first two each annotated
/// method must be virtual, and in an abstract class each public method.
#define DLOCK_DEFAULTS(...) DLOCK_DETAIL_ANNOTATION("DLOCK_DEFAULTS(" #__VA_ARGS__ ")")
