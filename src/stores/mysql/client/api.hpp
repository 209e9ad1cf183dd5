// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The client library: MySQL's or MariaDB's, which have one API.

#include <errmsg.h>
#include <mysql.h>
#include <mysqld_error.h>
