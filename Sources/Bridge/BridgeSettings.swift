package import Access
package import Exchanges
