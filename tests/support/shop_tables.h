/*
 * shop_tables.h - the schema of tests that edit a schema: products, orders and customers, as a tables.json.
 */
#ifndef TESTS_SUPPORT_SHOP_TABLES_H
#define TESTS_SUPPORT_SHOP_TABLES_H

static const char shop_tables[] =
    "[{\"db_id\":\"shop\",\"table_names\":[\"products\",\"orders\",\"customers\"],"
    "\"table_names_original\":[\"products\",\"orders\",\"customers\"],"
    "\"column_names\":[[-1,\"*\"],[0,\"product id\"],[0,\"name\"],[0,\"price\"],[0,\"weight\"],[1,\"order id\"],"
    "[1,\"date\"],[1,\"status\"],[1,\"customer id\"],[1,\"product id\"],[2,\"customer id\"],[2,\"name\"],[2,\"city\"],"
    "[2,\"email\"]],"
    "\"column_names_original\":[[-1,\"*\"],[0,\"product_id\"],[0,\"name\"],[0,\"price\"],[0,\"weight\"],"
    "[1,\"order_id\"],[1,\"date\"],[1,\"status\"],[1,\"customer_id\"],[1,\"product_id\"],[2,\"customer_id\"],"
    "[2,\"name\"],[2,\"city\"],[2,\"email\"]],"
    "\"column_types\":[\"text\",\"number\",\"text\",\"number\",\"number\",\"number\",\"time\",\"text\",\"number\","
    "\"number\",\"number\",\"text\",\"text\",\"text\"],"
    "\"primary_keys\":[1,5,10],\"foreign_keys\":[[8,10],[9,1]]}]";

#endif
