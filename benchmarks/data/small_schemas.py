"""The four schemas of the small tables: each column and the kind of its values."""

STATES = ("closed", "new", "open")
COUNTRIES = ("BR", "DE", "IN", "KR", "US")
SCHEMAS = {
    "orders": {"order_id": "id", "customer": "key", "amount": "amount", "state": "state"},
    "payments": {"payment_id": "id", "order_ref": "key", "paid": "amount", "fee": "amount", "state": "state"},
    "shops": {"shop_id": "id", "owner": "key", "rating": "amount", "country": "country"},
    "visits": {"visit_id": "id", "visitor": "key", "minutes": "amount", "state": "state", "country": "country"},
}
