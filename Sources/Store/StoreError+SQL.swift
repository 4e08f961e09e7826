package import Basics
package import SQL

extension StoreError {
    package init(_ error: SQLError) {
        switch error.kind {
        case .full: self = .storageFull
        default: self = .unavailable(error.summary, statement: error.sql.map { String($0.prefix(120)) })
        }
    }
}
