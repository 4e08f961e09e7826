pub mod rust {
    /// Absent, null and a value are three things.
    pub mod double_option {
        use serde::{Deserialize, Deserializer, Serialize, Serializer};

        pub fn serialize<S: Serializer, T: Serialize>(value: &Option<Option<T>>, to: S) -> Result<S::Ok, S::Error> {
            value.as_ref().and_then(Option::as_ref).serialize(to)
        }

        pub fn deserialize<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<Option<T>>, D::Error> {
            Option::deserialize(from).map(Some)
        }
    }
}
