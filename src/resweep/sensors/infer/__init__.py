"""What a log's points show of the sensor that recorded them."""
