import CPostgres
import POSIX
package import SQL

/// One session with a server. Not Sendable: it lives on the queue of the actor that opened it.
///
/// A statement whose result nobody looks at is sent and not waited for; whatever looks at a result waits for all that was sent before it,
/// in one round trip. So an error may show later than its statement. It carries the text of the statement that failed, and nothing behind
/// that was done.
@safe
package final class PostgresConnection {
    /// More statements than the program has fixed texts; texts built for a request have no name.
    private static let mostKept = 256
    /// The rows of one step of a long read.
    private static let rowsOfStep = 256

    fileprivate enum Sent {
        case preparation(of: Key)
        case statement(String)
    }

    /// A text is prepared for the types of its values.
    fileprivate struct Key: Hashable {
        let sql: String
        let types: [UInt32]
    }

    private let handle: OpaquePointer
    private let answerMs: Int64
    private var sent: [Sent] = []
    private var names: [Key: String] = [:]
    private var cursors = 0
    /// The result that was read last.
    private var last: PostgresResult?
    private let warnings: UnsafeMutablePointer<Int32>
    private var isClosed = false
    /// Set once nothing can be done on this connection any more.
    package private(set) var isLost = false
    package private(set) var isInTransaction = false
    /// The statements sent so far that are no reads: whether an operation has written anything.
    package private(set) var writes = 0

    package init(_ place: PostgresPlace) throws(SQLError) {
        try PostgresLibrary.load()
        answerMs = place.answerMs
        let names = place.words.map { $0.name.utf8CString }
        let values = place.words.map { $0.value.utf8CString }
        let opened = unsafe Self.withAddresses(of: names) { names in
            unsafe Self.withAddresses(of: values) { values in
                unsafe cpostgres_PQconnectStartParams(names, values, 1)
            }
        }
        guard let opened = unsafe opened else { throw SQLError(.other, code: "libpq", message: "out of memory") }
        unsafe handle = opened
        unsafe warnings = .allocate(capacity: 1)
        unsafe warnings.initialize(to: 0)
        unsafe cpostgres_watch(opened, warnings)
        do throws(SQLError) {
            try connect(within: place.connectMs)
        } catch {
            close()
            throw error
        }
    }

    deinit {
        close()
        unsafe warnings.deallocate()
    }

    /// A list of texts that ends with none, as C takes it.
    private static func withAddresses<Result>(
        of texts: [ContiguousArray<CChar>],
        _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Result
    ) -> Result {
        let all = texts.flatMap { Array($0) }
        return unsafe all.withUnsafeBufferPointer { buffer in
            var next = 0
            var addresses: [UnsafePointer<CChar>?] = unsafe []
            for text in texts {
                unsafe addresses.append(buffer.baseAddress.map { unsafe $0 + next })
                next += text.count
            }
            unsafe addresses.append(nil)
            return unsafe addresses.withUnsafeBufferPointer { unsafe body($0.baseAddress) }
        }
    }

    private func connect(within milliseconds: Int64) throws(SQLError) {
        let deadline = HostClock.monotonicMilliseconds + milliseconds
        var state = CPOSTGRES_WRITING
        while state != CPOSTGRES_CONNECTED {
            guard state != CPOSTGRES_FAILED, unsafe Int(cpostgres_PQstatus(handle)) != CPOSTGRES_BAD else {
                throw failure(.cannotOpen)
            }
            let interest: ForeignSocket.Interest = state == CPOSTGRES_READING ? .reading : .writing
            guard wait(for: interest, until: deadline) else {
                throw SQLError(.lost, code: "timeout", message: "no connection in \(milliseconds) ms")
            }
            state = Int(unsafe cpostgres_PQconnectPoll(handle))
        }
        guard unsafe cpostgres_PQsetnonblocking(handle, 1) == 0, unsafe cpostgres_PQenterPipelineMode(handle) == 1
        else {
            throw failure(.other)
        }
    }

    /// Ends the session; what was sent and not looked at may be done or not.
    package func close() {
        guard !isClosed else { return }
        (isClosed, isLost, isInTransaction) = (true, true, false)
        unsafe cpostgres_PQfinish(handle)
    }

    // MARK: The server

    /// Such as 150018 for 15.18.
    package var serverVersion: Int { unsafe isClosed ? 0 : Int(cpostgres_PQserverVersion(handle)) }
    package var isEncrypted: Bool { unsafe !isClosed && cpostgres_PQsslInUse(handle) != 0 }
    /// The server as a person names it; a socket by its folder.
    package var server: String {
        guard !isClosed else { return "" }
        let host = unsafe String(cString: cpostgres_PQhost(handle))
        let port = unsafe String(cString: cpostgres_PQport(handle))
        let name = unsafe String(cString: cpostgres_PQdb(handle))
        return "\(host):\(port)/\(name)"
    }

    // MARK: Statements

    /// Sends a statement whose rows nobody wants.
    package func run(_ sql: String, values: [SQLValue] = []) throws(SQLError) {
        writes += 1
        try send(sql, values)
    }

    /// Visits the rows of a statement until `body` has enough; all of them have arrived by then.
    package func rows(
        _ sql: String,
        values: [SQLValue],
        row body: (PostgresRow) throws(SQLError) -> Bool
    ) throws(SQLError) {
        try send(sql, values)
        guard let result = try collect() else { return }
        for row in 0..<result.rows {
            guard try body(PostgresRow(result: result, row: row)) else { return }
        }
    }

    /// Visits the rows of a long read until `body` has enough, some hundred at a time.
    package func scan(
        _ sql: String,
        values: [SQLValue],
        row body: (PostgresRow) throws(SQLError) -> Bool
    ) throws(SQLError) {
        let isAlone = !isInTransaction
        if isAlone { try begin("READ ONLY") }
        defer { if isAlone { rollBack() } }
        cursors += 1
        let cursor = "c\(cursors)"
        try send("DECLARE \(cursor) NO SCROLL CURSOR FOR \(sql)", values, isKept: false)
        var isEnough = false
        while !isEnough {
            try send("FETCH \(Self.rowsOfStep) FROM \(cursor)", [], isKept: false)
            guard let result = try collect() else { break }
            for row in 0..<result.rows where !isEnough {
                isEnough = try !body(PostgresRow(result: result, row: row))
            }
            if result.rows < Self.rowsOfStep { break }
        }
        try send("CLOSE \(cursor)", [], isKept: false)
    }

    /// Waits for all that was sent.
    package func settle() throws(SQLError) {
        if !sent.isEmpty { _ = try collect() }
    }

    /// The number of rows that the last statement inserted, changed or deleted.
    package func changes() throws(SQLError) -> Int {
        try settle()
        return last?.changes ?? 0
    }

    // MARK: Transactions

    package func begin(_ options: String = "") throws(SQLError) {
        // Statements that were sent before are no part of it.
        try settle()
        try send("BEGIN \(options)", [])
        isInTransaction = true
    }

    /// Sends the end of the transaction and waits for it. An error whose kind is `lost` leaves open whether it was carried out.
    package func commit() throws(SQLError) {
        try send("COMMIT", [])
        unsafe warnings.pointee = 0
        // After an error the transaction is open and can only be rolled back.
        let result = try collect()
        isInTransaction = false
        // A failed transaction answers its end with another word, and no error.
        guard result?.word == "COMMIT" else {
            throw SQLError(.other, code: "PostgreSQL", message: "the transaction was rolled back", sql: "COMMIT")
        }
        // Somebody ended the wait for a synchronous standby: committed here, and perhaps nowhere else.
        guard unsafe warnings.pointee == 0 else {
            throw lose(
                SQLError(.lost, code: "warning", message: "the standby did not confirm the commit", sql: "COMMIT")
            )
        }
    }

    /// Ends any open transaction.
    package func rollBack() {
        guard isInTransaction, !isLost else { return isInTransaction = false }
        isInTransaction = false
        // Statements that were sent before may have failed; that is known already, or does not matter any more.
        try? settle()
        try? send("ROLLBACK", [])
        try? settle()
    }

    // MARK: Sending

    private func send(_ sql: String, _ values: [SQLValue], isKept: Bool = true) throws(SQLError) {
        guard !isLost else { throw SQLError(.lost, code: "closed", message: "the connection is closed", sql: sql) }
        let parameters = PostgresParameters(values)
        let count = Int32(values.count)
        let formats = [Int32](repeating: 1, count: values.count)
        let key = Key(sql: sql, types: parameters.types)
        if isKept, names[key] == nil, names.count < Self.mostKept {
            let name = "s\(names.count)"
            let done = unsafe cpostgres_PQsendPrepare(
                handle,
                name,
                PostgresStatement.text(sql),
                count,
                parameters.types
            )
            guard done == 1 else { throw failure(.lost, sql) }
            names[key] = name
            sent.append(.preparation(of: key))
        }
        let done = unsafe parameters.withAddresses { addresses in
            if let name = names[key] {
                return unsafe cpostgres_PQsendQueryPrepared(
                    handle,
                    name,
                    count,
                    addresses,
                    parameters.lengths,
                    formats,
                    1
                )
            }
            let text = PostgresStatement.text(sql)
            return unsafe cpostgres_PQsendQueryParams(
                handle,
                text,
                count,
                parameters.types,
                addresses,
                parameters.lengths,
                formats,
                1
            )
        }
        guard done == 1 else { throw failure(.lost, sql) }
        sent.append(.statement(sql))
        // Bytes that the socket takes now need not wait; an error shows when results are read.
        _ = unsafe cpostgres_PQflush(handle)
    }

    // MARK: Results

    /// Reads the results of all that was sent, and returns that of the last statement. The first error is thrown once all are read.
    private func collect() throws(SQLError) -> PostgresResult? {
        guard !isLost, unsafe cpostgres_PQpipelineSync(handle) == 1 else { throw failure(.lost) }
        let statements = sent
        sent = []
        let deadline = HostClock.monotonicMilliseconds + answerMs
        var failed: SQLError?
        var index = 0
        while true {
            try waitForResult(until: deadline)
            guard let made = unsafe cpostgres_PQgetResult(handle) else {
                // The end of one statement's results.
                index += 1
                guard index <= statements.count else { throw failure(.lost) }
                continue
            }
            let result = unsafe PostgresResult(made)
            switch result.kind {
            case .end:
                if let failed { throw failed }
                return last
            case .rows, .command: if case .statement? = statements[at: index] { last = result }
            case .skipped: forget(statements[at: index])
            case .failed:
                forget(statements[at: index])
                failed = failed ?? result.error(statements[at: index]?.sql)
                if let failed, unsafe Int(cpostgres_PQstatus(handle)) == CPOSTGRES_BAD { throw lose(failed) }
            }
        }
    }

    /// The server did not prepare this text.
    private func forget(_ statement: Sent?) {
        if case .preparation(let key)? = statement { names[key] = nil }
    }

    private func waitForResult(until deadline: Int64) throws(SQLError) {
        while unsafe cpostgres_PQisBusy(handle) != 0 {
            let rest = unsafe cpostgres_PQflush(handle)
            guard rest >= 0 else { throw failure(.lost) }
            guard wait(for: rest > 0 ? .either : .reading, until: deadline) else {
                throw lose(SQLError(.lost, code: "timeout", message: "\(server) did not answer in \(answerMs) ms"))
            }
            guard unsafe cpostgres_PQconsumeInput(handle) == 1 else { throw failure(.lost) }
        }
    }

    private func wait(for interest: ForeignSocket.Interest, until deadline: Int64) -> Bool {
        let left = deadline - HostClock.monotonicMilliseconds
        return left > 0 && ForeignSocket.wait(unsafe cpostgres_PQsocket(handle), for: interest, milliseconds: Int(left))
    }

    /// The error of the connection itself.
    private func failure(_ kind: SQLError.Kind, _ sql: String? = nil) -> SQLError {
        guard !isClosed else { return SQLError(.lost, code: "closed", message: "the connection is closed", sql: sql) }
        let text = unsafe String(cString: cpostgres_PQerrorMessage(handle))
        let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return lose(
            SQLError(kind, code: "PostgreSQL", message: words.isEmpty ? "the connection broke" : words, sql: sql)
        )
    }

    private func lose(_ error: SQLError) -> SQLError {
        isLost = true
        isInTransaction = false
        sent = []
        var error = error
        if error.kind != .cannotOpen { error.kind = .lost }
        return error
    }
}

extension PostgresConnection.Sent {
    fileprivate var sql: String {
        switch self {
        case .preparation(let key): key.sql
        case .statement(let sql): sql
        }
    }
}

extension Array {
    fileprivate subscript(at index: Int) -> Element? { index < count ? self[index] : nil }
}
